"""The runs of an audit, as the program makes them: every sample by the plan of its shapes and in an audit of its own, which are
added up in their order."""

from __future__ import annotations

import ctypes
from ctypes import byref
from dataclasses import dataclass
from typing import Any, Sequence

from . import _declarations as d
from ._arrays import TensorSet
from ._library import Owner, Watch, call, lib
from ._progress import ProgressOption, make_progress

_QUICK_TURNS = 4  # the program's: what is still doubtful then is computed at 128 bits everywhere


@dataclass
class AuditOptions:
    attribute: bool
    certify: bool
    quick: bool
    timings: bool
    threads: int
    progress: ProgressOption


def _made(create: str, free: str, *arguments: Any) -> Owner:
    address = ctypes.c_void_p()
    call(create, *arguments, byref(address))
    return Owner(address, free)


class Auditing:
    """plans: of all lanes. reference: lane 0's arithmetic."""

    def __init__(self, model: Any, plans: Owner, reference: Any, options: AuditOptions) -> None:
        self._model, self._plans, self._reference, self._options = model, plans, reference, options
        self._timer = _made("ulp_timer_create", "ulp_timer_free") if options.timings else None
        self._watch: Any = None

    @property
    def _stopwatch(self) -> Any:
        return self._timer.value if self._timer is not None else None

    def _phase(self, phase: int) -> None:
        lib.ulp_timer_phase(self._stopwatch, phase)

    def _watched(self, phase: int, observer: Any) -> Any:
        return lib.ulp_timer_watch(self._stopwatch, phase, byref(observer))

    def _plan(self, sample: TensorSet) -> Any:
        plan = ctypes.c_void_p()
        self._phase(d.ULP_TIMED_PLANNING)
        call("ulp_plans_choose", byref(self._plans.value), byref(sample.value), byref(plan))
        self._phase(d.ULP_TIMED_OTHER)
        return plan

    def _walk(self, plan: Any, sample: TensorSet, options: Any, observers: Sequence[Any]) -> None:
        array = (d.ulp_observer * len(observers))(*observers)
        self._phase(d.ULP_TIMED_RUNNING)
        call("ulp_plan_run", plan, byref(sample.value), byref(options), array, len(observers), None, None)

    def _one(self, plan: Any, name: str, sample: TensorSet, quick: bool) -> tuple[Owner, Owner | None]:
        """The audit of one sample, and what looks at its reference."""
        options, checked = self._options, None
        auditor = _made("ulp_auditor_create", "ulp_auditor_free", plan)
        call("ulp_auditor_threads", auditor.value, options.threads)
        call("ulp_auditor_sample", auditor.value, name.encode())
        measuring = self._watched(d.ULP_TIMED_MEASURING, lib.ulp_auditor_observer(auditor.value))
        observers = [lib.ulp_timer_observer(self._stopwatch, plan), measuring, self._watch.observer]
        if quick:
            checked = _made("ulp_quick_create", "ulp_quick_free", plan, options.threads)
            observers.append(self._watched(d.ULP_TIMED_CERTIFYING, lib.ulp_quick_observer(checked.value)))
        if options.attribute:
            attributor = _made("ulp_attributor_create", "ulp_attributor_free", plan, None, options.threads)
            lib.ulp_attributor_causes(attributor.value)
            observers.append(self._watched(d.ULP_TIMED_ATTRIBUTING, lib.ulp_attributor_observer(attributor.value)))
            call("ulp_attributor_sample", attributor.value, byref(sample.value))
        departure = _made("ulp_departure_create", "ulp_departure_free", plan)
        run = d.ulp_run_options(thread_count=options.threads, audit=True, departure=departure.value)
        self._walk(plan, sample, run, observers)
        if options.attribute:
            self._phase(d.ULP_TIMED_ATTRIBUTING)
            call("ulp_attributor_sweep", attributor.value)
        if lib.ulp_auditor_has_diverged(auditor.value):
            following = self._watched(d.ULP_TIMED_MEASURING, lib.ulp_auditor_follower(auditor.value))
            follow = d.ulp_run_options(thread_count=options.threads, follow=True, departure=departure.value)
            self._walk(plan, sample, follow, [observers[0], following, self._watch.observer])
        audit = Owner(d.ulp_audit(), "ulp_audit_free")
        if options.certify:
            self._phase(d.ULP_TIMED_CERTIFYING)
            certificate = d.ulp_certificate()
            given = (self._reference, sample.value, d.ulp_run_options(thread_count=options.threads), self._watch.observer, certificate)
            call("ulp_certify", self._model, *map(byref, given))
        self._phase(d.ULP_TIMED_OTHER)
        call("ulp_auditor_finish", auditor.value, byref(audit.value))
        if options.certify:
            audit.value.certificate = certificate
        if options.attribute:
            call("ulp_attributor_finish", attributor.value, byref(audit.value))
        if checked is not None:
            call("ulp_quick_judge", checked.value, byref(audit.value))
        return audit, checked

    def _widen(self, plan: Any, wide: Sequence[int]) -> None:
        """These nodes of the reference at 128 bits, and no others."""
        keeps = d.ulp_keeps(len(wide), (d.ulp_keep * max(len(wide), 1))(), b"128 bits" if wide else None)
        exact = d.ulp_arithmetic()
        call("ulp_arithmetic_find", b"mpfr:128", byref(exact))
        patterns = [f"#{node}".encode() for node in wide]
        for item, pattern in zip(keeps.items, patterns):
            item.pattern, item.arithmetic = pattern, exact
        call("ulp_plan_keep", plan, 0, byref(keeps))

    def _quickly(self, plan: Any, name: str, sample: TensorSet) -> Owner:
        """In FP64; where that is not enough at 128 bits."""
        wide: set[int] = set()
        nodes, doubtful = range(lib.ulp_plan_node_count(plan)), 0
        try:
            for turn in range(_QUICK_TURNS + 1):
                last = turn == _QUICK_TURNS
                wide = set(nodes) if last else wide
                self._widen(plan, sorted(wide))
                audit, checked = self._one(plan, name, sample, quick=not last)
                quick = audit.value.quick
                if last:
                    quick.given, quick.worst_node, quick.doubtful = True, -1, doubtful
                quick.recomputed, doubtful = len(wide), quick.doubtful
                if last or not doubtful or checked is None:
                    break
                wide.update(node for node in nodes if lib.ulp_quick_is_doubtful(checked.value, node))
        finally:
            self._widen(plan, [])
        return audit

    def run(self, names: Sequence[str], sets: Sequence[TensorSet]) -> tuple[Owner, Owner | None]:
        """The audit of all samples, and the times."""
        options = self._options
        shown = make_progress(options.progress, len(sets))
        with Watch(shown) as self._watch:
            self._plan(sets[0])
            total = _made("ulp_auditor_create", "ulp_auditor_free", self._plans.value.first)
            for i, (name, sample) in enumerate(zip(names, sets)):
                if shown is not None:
                    shown.run = i
                plan = self._plan(sample)
                one = self._quickly(plan, name, sample) if options.quick else self._one(plan, name, sample, False)[0]
                call("ulp_auditor_add", total.value, byref(one.value))
            audit = Owner(d.ulp_audit(), "ulp_audit_free")
            call("ulp_auditor_finish", total.value, byref(audit.value))
            if options.attribute:
                self._phase(d.ULP_TIMED_ATTRIBUTING)
                self._attribute_overflowing(audit, sets)
        self._phase(d.ULP_TIMED_OTHER)
        if self._timer is None:
            return audit, None
        times = Owner(d.ulp_timings(), "ulp_timings_free")
        call("ulp_timings_read", self._stopwatch, byref(times.value))
        audit.value.timings = ctypes.pointer(times.value)
        return audit, times

    def _attribute_overflowing(self, audit: Owner, sets: Sequence[TensorSet]) -> None:
        """On the samples of the first one's shapes."""
        first = self._plans.value.first
        taken = [ctypes.pointer(s.value) for s in sets if lib.ulp_plan_takes(first, byref(s.value))]
        pointers = (ctypes.POINTER(d.ulp_tensor_set) * len(taken))(*taken)
        more = d.ulp_attribution_options(thread_count=self._options.threads, progress=ctypes.pointer(self._watch.observer))
        call("ulp_audit_attribute_overflowing", byref(audit.value), first, pointers, len(taken), byref(more))

// The tree of groups that the nodes' names make: "block/attention/query" is in block, in block/attention.

const childrenMost = 90; // more than these are put into runs of nodes that follow each other

function nameParts(names) {
  const slashes = names.reduce((n, name) => n + name.includes("/"), 0);
  const dots = names.reduce((n, name) => n + name.includes("."), 0);
  const separator = 2 * slashes >= names.length || slashes >= dots ? "/" : ".";
  // very long names are of one part: nobody groups by them
  return (name) => (name.length > 2000 ? [name.slice(0, 2000)] : name.split(separator).filter((part) => part !== "").slice(0, 24));
}

function makeGroup(label, parent) {
  return { label, parent, children: [], byName: new Map(), first: Infinity, count: 0, open: false, node: -1 };
}

// Groups of one child are that child; runs divide what has too many.
function tidy(group) {
  group.children = group.children.map((child) => (child.node >= 0 ? child : tidy(child)));
  if (group.parent && group.children.length === 1) {
    const only = group.children[0];
    only.label = `${group.label}/${only.label}`;
    only.parent = group.parent;
    return only;
  }
  group.children.sort((a, b) => a.first - b.first);
  if (group.children.length > childrenMost) {
    const all = group.children, size = Math.max(24, Math.ceil(all.length / Math.ceil(all.length / 60)));
    const runs = all.length > size * childrenMost ? Math.ceil(all.length / childrenMost) : size;
    group.children = [];
    for (let start = 0; start < all.length; start += runs) {
      const part = all.slice(start, start + runs), run = makeGroup(`${part[0].label} …`, group);
      run.children = part;
      run.run = true;
      for (const child of part) {
        child.parent = run;
        run.first = Math.min(run.first, child.first);
        run.count += child.count;
      }
      group.children.push(part.length === 1 ? Object.assign(part[0], { parent: group }) : run.children.length > childrenMost ? tidy(run) : run);
    }
  }
  delete group.byName;
  return group;
}

function makeTree(nodes) {
  const root = makeGroup("", null), split = nameParts(nodes.names), leaves = [];
  for (let i = 0; i < nodes.count; i++) {
    const parts = split(nodes.names[i]);
    const label = parts.pop() ?? "";
    let group = root;
    for (const part of parts) {
      let next = group.byName.get(part);
      if (!next) {
        next = makeGroup(part, group);
        group.byName.set(part, next);
        group.children.push(next);
      }
      group = next;
    }
    const leaf = { label: label || nodes.ops[i], parent: group, node: i, first: i, count: 1, children: [] };
    group.children.push(leaf);
    leaves.push(leaf);
    for (; group; group = group.parent) {
      group.first = Math.min(group.first, i);
      group.count++;
    }
  }
  const tree = tidy(root);
  linkGroups(nodes, leaves);
  return { root: tree, leaves };
}

function depthOf(item) {
  let depth = 0;
  for (let at = item; at.parent; at = at.parent) depth++;
  return depth;
}

// Each edge is drawn in the innermost group that has both its ends, between that group's children.
function linkGroups(nodes, leaves) {
  const depths = new Map(), depth = (item) => depths.get(item) ?? (depths.set(item, depthOf(item)), depths.get(item));
  for (let to = 0; to < nodes.count; to++)
    for (const from of nodes.sources[to]) {
      let a = leaves[from], b = leaves[to];
      while (a.parent !== b.parent) {
        if (depth(a) >= depth(b)) a = a.parent;
        else b = b.parent;
        if (!a || !b) break;
      }
      if (!a || !b || a === b || !a.parent) continue;
      const links = (a.parent.links ??= new Map());
      let row = links.get(a);
      if (!row) links.set(a, (row = new Map()));
      row.set(b, (row.get(b) || 0) + 1);
    }
}

// Opens groups from outside in while fewer than `most` boxes are seen.
function openSome(root, most) {
  let seen = root.children.length, level = [root];
  root.open = true;
  while (level.length) {
    const next = [];
    for (const group of level.flatMap((g) => g.children).filter((c) => c.node < 0).sort((a, b) => a.children.length - b.children.length)) {
      if (seen + group.children.length > most) continue;
      seen += group.children.length;
      group.open = true;
      next.push(group);
    }
    level = next;
  }
}

const everyGroup = function* (group) {
  yield group;
  for (const child of group.children) if (child.node < 0) yield* everyGroup(child);
};
const leavesOf = function* (item) {
  if (item.node >= 0) yield item.node;
  else for (const child of item.children) yield* leavesOf(child);
};

// Lists of objects, which the page holds column by column (analysis/html/html_pack.h). An element is made when it is asked for.

// A function from an index to a value; count: of elements.
function readColumn(column, count) {
  if (column === null) return () => null;
  if (Array.isArray(column)) return (i) => column[i];
  if ("s" in column) return () => column.s;
  if ("o" in column) {
    const members = Object.entries(column.o).map(([key, child]) => [key, readColumn(child, count)]);
    const present = column.p;
    // an object's members are those that are not null: "missing" and "null" mean the same here
    return (i) => {
      if (present && present[i] === "0") return null;
      const value = {};
      for (const [key, get] of members) {
        const member = get(i);
        if (member !== null) value[key] = member;
      }
      return value;
    };
  }
  const starts = new Int32Array(count + 1);
  for (let i = 0; i < count; i++) starts[i + 1] = starts[i] + Math.max(0, column.l[i]);
  const element = readColumn(column.e, starts[count]);
  return (i) => {
    if (column.l[i] < 0) return null;
    const list = [];
    for (let k = starts[i]; k < starts[i + 1]; k++) list.push(element(k));
    return list;
  };
}

// A list whose elements are made when they are asked for.
class Packed {
  constructor(packed) {
    this.length = packed.n;
    this.get = readColumn(packed.c, packed.n);
  }
}

// A value in which short lists are packed, as it was.
function unpack(value) {
  if (Array.isArray(value)) return value.map(unpack);
  if (value === null || typeof value !== "object") return value;
  if ("packed" in value) {
    const list = new Packed(value.packed);
    return Array.from({ length: list.length }, (_, i) => list.get(i));
  }
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, unpack(member)]));
}

/** `child` refers to `parent`. */
export type Reference = { child: string; parent: string }

/** The names in an order in which every row finds the rows it refers to; by name where the references leave a choice. */
export function inReferenceOrder(names: string[], references: Reference[]): string[] {
  const parents = new Map(names.map(name => [name, new Set<string>()]))
  // A table may refer to itself: the check runs once the whole table is there.
  for (const { child, parent } of references) if (child !== parent) parents.get(child)?.add(parent)
  const ordered: string[] = []
  while (parents.size > 0) {
    const free = [...parents.keys()].sort().filter(name => [...parents.get(name)!].every(parent => !parents.has(parent)))
    if (free.length === 0) throw new Error(`the tables ${[...parents.keys()].join(', ')} refer to each other in a circle`)
    for (const name of free) parents.delete(name)
    ordered.push(...free)
  }
  return ordered
}

export const integrities = ['trusted', 'untrusted'] as const
export type Integrity = (typeof integrities)[number]

/** Provenance of content, and whether it may direct an agent. */
export interface Label {
  integrity: Integrity
  /** Origins such as `human`, `url:https://…`, `file:a.md`; sorted, each once. */
  sources: string[]
}

/** Joins labels: one untrusted part makes the whole untrusted, and no source is forgotten. */
export function joinLabels(labels: Iterable<Label>): Label {
  let integrity: Integrity = 'trusted'
  const sources = new Set<string>()
  for (const label of labels) {
    if (label.integrity === 'untrusted') integrity = 'untrusted'
    for (const source of label.sources) sources.add(source)
  }
  return { integrity, sources: [...sources].sort() }
}

export function isUntrusted({ integrity }: Label): boolean {
  return integrity === 'untrusted'
}

export const documentKinds = ['turn', 'result', 'file'] as const

/** What a search finds: a turn, a result of an agent, or a passage of a file. */
export type DocumentKind = (typeof documentKinds)[number]

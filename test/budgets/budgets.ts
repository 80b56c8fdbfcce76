/** The most that an operation may cost. */
export interface Budget {
  /** On SQLite, without those that begin and end transactions. */
  statements: number
  commits: number
  /** Rows of the table `events`. */
  events: number
  /** On PostgreSQL. */
  roundTrips: number
}

/**
 * What each operation may ask of the database (`operations.ts` has how they are counted). Counts are exact on any machine,
 * so an operation that gets dearer shows here. To raise one is fine: say why in the commit that does.
 */
export const budgets: Record<string, Budget> = {
  'plain turn': { statements: 26, commits: 2, events: 2, roundTrips: 13 },
  'tool round inside a turn': { statements: 7, commits: 2, events: 2, roundTrips: 4 },
  // How many share a commit depends on what else the machine does: 0.15 alone.
  'child with one tool call, of 100 at once': { statements: 27.5, commits: 0.3, events: 4.2, roundTrips: 20 },
  'task of a plan': { statements: 45, commits: 1, events: 5, roundTrips: 36 },
  'approval asked and answered': { statements: 25, commits: 3, events: 5, roundTrips: 22 },
  'idle daemon, per second': { statements: 2.3, commits: 1, events: 0, roundTrips: 3.3 },
}

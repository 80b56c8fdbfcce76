/** One row of the table: where a plan is carried out, and what becomes of its daemons meanwhile. */
export interface SoakRow {
  name: string
  database: 'sqlite' | 'postgres'
  provider: 'openai-compatible' | 'anthropic'
  /** Each has a home of its own; they meet in the database. */
  daemons: 1 | 2
  /** Whoever asks waits in a process of its own, which goes on with the work when the daemon dies. */
  asks: boolean
  signal: 'SIGKILL' | 'SIGTERM'
}

const usual = { daemons: 1, asks: false, signal: 'SIGKILL' } as const

export const soakRows: readonly SoakRow[] = [
  { ...usual, name: 'sqlite-openai', database: 'sqlite', provider: 'openai-compatible' },
  { ...usual, name: 'sqlite-anthropic', database: 'sqlite', provider: 'anthropic' },
  { ...usual, name: 'postgres-openai', database: 'postgres', provider: 'openai-compatible' },
  { ...usual, name: 'postgres-anthropic', database: 'postgres', provider: 'anthropic' },
  { ...usual, name: 'two-daemons', database: 'postgres', provider: 'openai-compatible', daemons: 2 },
  { ...usual, name: 'up-and-ask', database: 'sqlite', provider: 'openai-compatible', asks: true },
  { ...usual, name: 'sigterm', database: 'sqlite', provider: 'openai-compatible', signal: 'SIGTERM' },
]

import { HeddleError } from '../../src/domain/errors.ts'
import type { OwnerApp } from '../setup/owner-app.ts'

/** What a yes is told that came second, or after the question had changed. */
const overtaken = ['already_answered', 'changed_meanwhile', 'run_ended']

interface Desk {
  app: Pick<OwnerApp, 'runs' | 'approvals' | 'decide'>
  /** Resolves when nothing is left to do but by people. */
  quiet(): Promise<void>
  insist<T>(work: () => Promise<T>): Promise<T>
}

/**
 * As people do who were told nothing: they answer what is still open, until no run is left. That no question is open does
 * not mean that: somebody else may have answered the last one just now, and the run asks another.
 */
export async function approveAll({ app, quiet, insist }: Desk): Promise<void> {
  for (;;) {
    await quiet()
    if ((await insist(() => app.runs())).rows.length === 0) return
    for (const { id, hash } of await insist(() => app.approvals()))
      await insist(() => app.decide(`approval:${id}`, { answer: 'once', hash })).catch((error) => {
        if (!(error instanceof HeddleError && overtaken.includes(error.code))) throw error
      })
  }
}

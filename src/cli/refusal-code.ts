import { HeddleError, UsageError } from '../domain/errors.ts'

/** Exit code for a command that was refused or failed. */
export function refusalCode(failure: unknown): number {
  if (!(failure instanceof HeddleError)) return 1
  if (failure.code === 'cancelled') return 130
  return failure instanceof UsageError ? 2 : 1
}

import type { Step } from '../../../domain/run.ts'
import type { BegunStep, EndedStep } from './journal.ts'

/**
 * The folder in which an ended call changed files, or may have changed them unobserved; of an unsafe call that begins, the
 * folder in which it may do so until its end is journalled.
 */
export function touchedFolder({ kind, payload }: Step, folder: string): string | null {
  if (kind === 'begun') return (payload as BegunStep).effect === 'unsafe' ? folder : null
  if (kind !== 'ended') return null
  const { touched, status } = payload as EndedStep
  if (!touched) return status === 'unknown' ? folder : null
  if ('unseen' in touched) return folder
  const { created, changed, removed, passedOver = [], hidden } = touched
  const isTouched = created.length + changed.length + removed.length + passedOver.length > 0 || hidden !== undefined
  return isTouched ? touched.folder : null
}

/** Numbers of the steps that began the unsafe calls which these steps end, with all changes of files recorded. */
export function surveyedBegins(journal: readonly Step[], ends: readonly Step[]): number[] {
  const ended = ends.filter(({ kind }) => kind === 'ended').map(({ payload }) => payload as EndedStep)
  const ids = new Set(ended.filter(isSurveyed).map(({ id }) => id))
  if (ids.size === 0) return []
  return journal.flatMap(({ kind, seq, payload }) => {
    const { id, effect } = payload as BegunStep
    return kind === 'begun' && effect === 'unsafe' && ids.has(id) ? [seq] : []
  })
}

/** Whether an ended call has left no change of a file that is not recorded. */
function isSurveyed({ touched, status }: EndedStep): boolean {
  if (!touched) return status !== 'unknown'
  return !('unseen' in touched) && touched.unrecorded === 0
}

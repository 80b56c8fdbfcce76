import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { RunLine } from '../api/wire.ts'
import { shortId } from '../text/format.ts'
import { pageOf } from '../text/references.ts'
import { withoutBidi } from '../text/safe-text.ts'
import { taskName } from '../text/task-name.ts'

/** The task that a run is for, as a link; nothing if it is for none. */
export function TaskOfRun({ run: { taskId, taskNumber: number } }: { run: RunLine }): ReactNode {
  if (taskId === undefined) return null
  return <Link href={`/tasks/${taskId}`}>{taskName({ id: taskId, ...(number !== undefined && { number }) })}</Link>
}

/** A thing by its reference, as a link to its page. Long ids are shown by their end. */
export function Reference({ to }: { to: string }): ReactNode {
  const colon = to.indexOf(':')
  const [kind, id] = [to.slice(0, colon), to.slice(colon + 1)]
  const text = withoutBidi(kind === 'turn' || kind === 'run' ? `${kind}:${shortId(id)}` : to)
  const href = pageOf(to)
  return href === undefined ? (
    <span className="mono">{text}</span>
  ) : (
    <Link href={href} className="mono">
      {text}
    </Link>
  )
}

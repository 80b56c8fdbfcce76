import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { shortId } from '../text/format.ts'
import { pageOf } from '../text/references.ts'
import { withoutBidi } from '../text/safe-text.ts'

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

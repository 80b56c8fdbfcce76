import type { ApprovalView } from '../../api/views/approval.ts'
import { lapses } from '../../domain/approval.ts'
import { escapeInvisible } from '../../domain/text/visible.ts'
import { printable, truncateToWidth } from '../terminal/screen.ts'

const maxNameLength = 60

/** Whom a yes with a wider scope is for, and which calls it covers until when. */
export function describeScopes(approval: ApprovalView): { session: string; agent: string; covered: string } {
  const { agent, requestSession, session } = approval
  return {
    session: `every agent in session ${short(requestSession ?? session ?? '–')}`,
    agent: `@${short(agent)} in this folder, in every session`,
    covered: `${callWords(approval)}${untilWords(approval)}`,
  }
}

/** The call; a long one refers to the text above. */
function callWords({ covers, coverage, tool }: ApprovalView): string {
  if (covers.length <= maxNameLength && !covers.includes('\n')) return printable(escapeInvisible(covers))
  const where = escapeInvisible(coverage?.cwd ?? '.')
  return `${short(tool)}, exactly as above, ${where.length > maxNameLength ? 'in that directory' : `in ${printable(where)}`}`
}

function untilWords({ coverage }: ApprovalView): string {
  if (coverage?.confinement === 'sandbox') return '; the sandbox limits it'
  return coverage && lapses(coverage) ? ', until a run may have changed a file there' : ''
}

function short(name: string): string {
  return truncateToWidth(printable(escapeInvisible(name)), maxNameLength)
}

import type { ApprovalView } from '../domain/app.ts'
import type { Decision, Scope } from '../domain/approval.ts'
import { HeddleError, Misuse } from '../domain/errors.ts'
import { tail } from '../domain/id.ts'
import type { Door } from '../gateway/api.ts'
import type { Here } from './cli.ts'
import { askAboutPlan } from './plan-asking.ts'
import { planAsked } from './plan-question.ts'
import { askLine, canAsk } from './prompt.ts'
import { taskOf } from './question-page.ts'
import { ShownQuestion } from './shown-question.ts'

const patience = 1000

export const onApproval = ['wait', 'fail', 'deny'] as const
/** What is done with questions of a run that somebody waits for. */
export type OnApproval = (typeof onApproval)[number]

export function onApprovalFrom(here: Here, value: unknown): OnApproval {
  if (value === undefined) return canAsk(here) && !here.json ? 'wait' : 'fail'
  const known = onApproval.find((each) => each === value)
  if (!known)
    throw new Misuse(`"${value}" is not a way to treat questions`, `use --on-approval ${onApproval.join(', ')}`)
  return known
}

interface Deciding {
  policy: OnApproval
  /** Calls the person, who may look elsewhere. */
  call(text: string): Promise<void>
  signal: AbortSignal
}

/**
 * Has what is open answered: by the person at the terminal, or by the policy. False when it stays open; `tomorrow` when
 * nothing goes on before that.
 */
export async function answerQuestions(
  here: Here,
  door: Door,
  ids: readonly number[],
  { policy, call, signal }: Deciding,
): Promise<boolean | 'tomorrow'> {
  if (policy === 'fail') return false
  if (policy === 'wait' && !canAsk(here)) {
    // Somebody else answers, from another terminal.
    await here.clock.sleep(patience, signal)
    return !signal.aborted
  }
  const open = await door.approvals()
  let isLater = false
  for (const id of ids) {
    const question = open.find((each) => each.id === id)
    if (!question) continue
    const said = policy === 'deny' ? nobodyThere : await askPerson(here, door, question, { call, signal })
    if (!said) return false
    if (said === 'answered') continue
    isLater ||= said.answer === 'tomorrow'
    await door.decide(String(id), said).catch((error) => askedAgain(here, error))
  }
  return isLater ? 'tomorrow' : true
}

const nobodyThere = { answer: 'no' as const, reason: 'nobody was there to ask' }

/** Shows a question on the terminal until it is answered. Undefined when the person leaves instead. */
async function askPerson(here: Here, door: Door, question: ApprovalView, { call, signal }: Omit<Deciding, 'policy'>) {
  await call(`run:${tail(question.runId)} needs you: approval`)
  return askOnTerminal(here, door, question, signal)
}

/** The same for somebody who has come to answer this very question; a `scope` is what their yes means. */
export async function askOnTerminal(
  here: Here,
  door: Door,
  question: ApprovalView,
  signal: AbortSignal,
  scope?: Scope | 'tomorrow',
): Promise<Decision | 'answered' | undefined> {
  const plan = planAsked(question)
  if (plan !== undefined) return askAboutPlan(here, door, { approval: question.id, plan }, signal)
  const task = await taskOf(door, question.runId)
  const shown = new ShownQuestion(here.screen, question, { task, ...(scope && { scope }) })
  here.tell(shown.begin())
  for (;;) {
    const typed = await askLine(here, shown.prompt, signal).catch(() => undefined)
    if (typed === undefined) return undefined
    const taken = shown.take(typed)
    if (taken && 'answer' in taken) return { ...taken, hash: question.hash }
    here.tell(taken ? taken.say : `type ${shown.keys}`)
  }
}

/** Somebody else was faster: fine. What was changed meanwhile is shown anew. */
function askedAgain(here: Here, error: unknown): void {
  const code = error instanceof HeddleError ? error.code : ''
  if (code === 'approval_changed') here.tell('it was changed while you looked at it; this is what it is now')
  else if (code !== 'already_answered' && code !== 'run_ended') throw error
}

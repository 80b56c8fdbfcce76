import type { ApprovalView } from '../../api/views/approval.ts'
import type { Decision, Scope } from '../../domain/approval.ts'
import type { Millis } from '../../domain/clock.ts'
import { HeddleError, UsageError } from '../../domain/errors.ts'
import { shortId } from '../../domain/id.ts'
import type { Client } from '../../gateway/api.ts'
import type { CommandContext } from '../command.ts'
import { askLine, canAsk } from '../terminal/prompt.ts'
import { askAboutPlan } from './ask-plan.ts'
import { planToStart } from './plan-question.ts'
import { taskOf } from './question-page.ts'
import { QuestionPager } from './question-pager.ts'

const pollInterval: Millis = 1000

const onApproval = ['wait', 'fail', 'deny'] as const
/** How questions of an awaited run are answered. */
export type OnApproval = (typeof onApproval)[number]

export function onApprovalFrom(here: CommandContext, value: unknown): OnApproval {
  if (value === undefined) return canAsk(here) && !here.json ? 'wait' : 'fail'
  const known = onApproval.find((each) => each === value)
  if (!known)
    throw new UsageError(`"${value}" is not a value of --on-approval`, `use --on-approval ${onApproval.join(', ')}`)
  return known
}

interface AnswerOptions {
  policy: OnApproval
  /** Notifies the user, who may be looking elsewhere. */
  call(text: string): Promise<void>
  signal: AbortSignal
}

/**
 * Answers open questions: by the user at the terminal, or by the policy. False when one stays open; `tomorrow` when the run
 * continues only then.
 */
export async function answerQuestions(
  here: CommandContext,
  client: Client,
  ids: readonly number[],
  { policy, call, signal }: AnswerOptions,
): Promise<boolean | 'tomorrow'> {
  if (policy === 'fail') return false
  if (policy === 'wait' && !canAsk(here)) {
    // The answer comes from another terminal.
    await here.clock.sleep(pollInterval, signal)
    return !signal.aborted
  }
  const open = await client.approvals()
  let isLater = false
  for (const id of ids) {
    const question = open.find((each) => each.id === id)
    if (!question) continue
    const decision = policy === 'deny' ? denial : await askUser(here, client, question, { call, signal })
    if (!decision) return false
    if (decision === 'answered') continue
    isLater ||= decision.answer === 'tomorrow'
    await client.decide(String(id), decision).catch((error) => ignoreIfAnswered(here, error))
  }
  return isLater ? 'tomorrow' : true
}

const denial = { answer: 'no' as const, reason: 'no one was there to answer' }

/** Notifies the user and asks on the terminal. Undefined when the user leaves instead. */
async function askUser(
  here: CommandContext,
  client: Client,
  question: ApprovalView,
  { call, signal }: Omit<AnswerOptions, 'policy'>,
) {
  await call(`run:${shortId(question.runId)} is waiting for your approval`)
  return askOnTerminal(here, client, question, signal)
}

/** Asks on the terminal until there is an answer. With `scope`, a yes means that scope. Undefined when the user leaves. */
export async function askOnTerminal(
  here: CommandContext,
  client: Client,
  question: ApprovalView,
  signal: AbortSignal,
  scope?: Scope | 'tomorrow',
): Promise<Decision | 'answered' | undefined> {
  const plan = planToStart(question)
  if (plan !== undefined) return askAboutPlan(here, client, { approval: question.id, plan }, signal)
  const task = await taskOf(client, question.runId)
  const shown = new QuestionPager(here.screen, question, { task, ...(scope && { scope }) })
  here.tell(shown.begin())
  for (;;) {
    const typed = await askLine(here, shown.prompt, signal).catch(() => undefined)
    if (typed === undefined) return undefined
    const taken = shown.take(typed)
    if (taken && 'answer' in taken) return { ...taken, hash: question.hash }
    here.tell(taken ? taken.say : `type ${shown.keys}`)
  }
}

/** Ignores that the question was answered elsewhere, or changed meanwhile: then it is asked again. */
function ignoreIfAnswered(here: CommandContext, error: unknown): void {
  const code = error instanceof HeddleError ? error.code : ''
  if (code === 'approval_changed') here.tell('it changed while you were looking; this is the new version')
  else if (code !== 'already_answered' && code !== 'run_ended') throw error
}

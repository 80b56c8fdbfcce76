import type { ApprovalView } from '../domain/app.ts'
import type { Answer } from '../domain/approval.ts'
import { HeddleError, Misuse } from '../domain/errors.ts'
import { tail } from '../domain/id.ts'
import type { Door } from '../gateway/api.ts'
import type { Here } from './cli.ts'
import { askAboutPlan } from './plan-asking.ts'
import { planAsked } from './plan-question.ts'
import { askLine, canAsk } from './prompt.ts'
import { questionPage, taskOf } from './question-page.ts'
import { paint, printable } from './screen.ts'

const patience = 1000

export const onApproval = ['wait', 'fail', 'deny'] as const
/** What is done with questions of a run that somebody waits for. */
export type OnApproval = (typeof onApproval)[number]

export function onApprovalFrom(here: Here, value: unknown): OnApproval {
  if (value === undefined) return canAsk() && !here.json ? 'wait' : 'fail'
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

/** Has what is open answered: by the person at the terminal, or by the policy. False when it stays open. */
export async function answerQuestions(
  here: Here,
  door: Door,
  ids: readonly number[],
  { policy, call, signal }: Deciding,
): Promise<boolean> {
  if (policy === 'fail') return false
  if (policy === 'wait' && !canAsk()) {
    // Somebody else answers, from another terminal.
    await here.clock.sleep(patience, signal)
    return !signal.aborted
  }
  const open = await door.approvals()
  for (const id of ids) {
    const question = open.find((each) => each.id === id)
    if (!question) continue
    const said = policy === 'deny' ? nobodyThere : await askPerson(here, door, question, { call, signal })
    if (!said) return false
    if (said === 'answered') continue
    await door.decide(String(id), { hash: question.hash, ...said }).catch((error) => askedAgain(here, error))
  }
  return true
}

const nobodyThere = { answer: 'no' as const, reason: 'nobody was there to ask' }

/** Shows a question on the terminal until it is answered. Undefined when the person leaves instead. */
async function askPerson(here: Here, door: Door, question: ApprovalView, { call, signal }: Omit<Deciding, 'policy'>) {
  const plan = planAsked(question)
  await call(`run:${tail(question.runId)} needs you: approval`)
  if (plan !== undefined) return askAboutPlan(here, door, { approval: question.id, plan }, signal)
  here.tell(questionPage(here.screen, question, { task: await taskOf(door, question.runId) }))
  for (;;) {
    const typed = await askLine(choices(here, question), signal).catch(() => undefined)
    if (typed === undefined) return undefined
    const said = answerFrom(typed)
    if (said) return said
    here.tell('type y, s, a, or n and why')
  }
}

/** What a person typed as an answer: a letter or a word, and after no the reason. */
export function answerFrom(typed: string): { answer: Answer; reason?: string } | undefined {
  const [word = '', ...rest] = typed.trim().split(/\s+/)
  const reason = rest.join(' ')
  const answer = answerWords.get(word.toLowerCase())
  if (answer === 'no') return { answer, ...(reason !== '' && { reason }) }
  return answer === undefined || reason !== '' ? undefined : { answer }
}

const answerWords = new Map<string, Answer>(
  Object.entries({
    ...{ y: 'once', yes: 'once', once: 'once' },
    ...{ s: 'session', session: 'session', a: 'agent', agent: 'agent' },
    ...{ n: 'no', no: 'no' },
  }),
)

export function choices(here: Pick<Here, 'screen'>, { agent }: Pick<ApprovalView, 'agent'>): string {
  const key = (letter: string) => paint(here.screen, 'bold', letter)
  return `  ${key('y')} once  ${key('s')} in this session  ${key('a')} @${printable(agent)} in this folder  ${key('n')} no, and why: `
}

/** Somebody else was faster: fine. What was changed meanwhile is shown anew. */
function askedAgain(here: Here, error: unknown): void {
  const code = error instanceof HeddleError ? error.code : ''
  if (code === 'approval_changed') here.tell('it was changed while you looked at it; this is what it is now')
  else if (code !== 'already_answered' && code !== 'run_ended') throw error
}

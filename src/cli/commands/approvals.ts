import type { GrantView } from '../../api/views/approval.ts'
import type { RequestAnswer } from '../../api/views/question.ts'
import type { Decision, Scope } from '../../domain/approval.ts'
import { UsageError } from '../../domain/errors.ts'
import type { Client } from '../../gateway/api.ts'
import { answerQuestions, askOnTerminal } from '../approvals/answer-approvals.ts'
import { ForeignText } from '../approvals/foreign-text.ts'
import { approveLine, questionPage, questionRow } from '../approvals/question-page.ts'
import type { CommandContext, CommandResult, Register } from '../command.ts'
import { answerJson, exitCodeOf, needsYouLine } from '../exit-codes.ts'
import { answerPage } from '../pages/answer-page.ts'
import { canAsk } from '../terminal/prompt.ts'
import { printable, type Screen, table, wrapText } from '../terminal/screen.ts'
import { waitForSummary } from '../wait-for-summary.ts'

/** Max rows of text in a list; `show` prints all. */
const maxRows = 40

const approvalScopes = ['once', 'session', 'agent', 'tomorrow'] as const

export const registerApprovals: Register = (program, run) => {
  program
    .command('approvals')
    .helpGroup('DECIDE')
    .description('calls waiting for your approval')
    .action(
      run(async (here) => {
        const approvals = await (await here.client()).approvals()
        const [only] = approvals
        if (!only)
          return { json: { approvals }, text: 'nothing needs your approval    heddle grants shows what you allowed' }
        const page =
          approvals.length === 1
            ? `${questionPage(here.screen, only, { max: maxRows })}\n${approveLine(only)}    heddle deny ${only.id} --reason "…"`
            : `${table(here.screen, approvals.map(questionRow), 3)}\nheddle show approval:ID    heddle approve ID    heddle deny ID --reason "…"`
        const json = approvals.map((each) => ({ ...each, approve: approveLine(each) }))
        return { json: { approvals: json }, text: page }
      }),
    )

  program
    .command('approve <id>')
    .helpGroup('DECIDE')
    .description('approve a waiting call, exactly as it is shown')
    .option(
      '--scope <scope>',
      'once · session: similar calls in this session · agent: this agent in this folder · tomorrow: wait for tomorrow’s budget',
      'once',
    )
    .option('--hash <hash>', 'hash of what you were shown, from `heddle show approval:ID`; required without a terminal')
    .option('--no-wait', 'record the answer and return; `heddle up` continues the run')
    .addHelpText(
      'after',
      '\nExamples: heddle approve 3 --scope session\n          heddle approve 3 --hash 1a2b3c4d5e6f',
    )
    .action(
      run(async (here, [id = ''], options) => {
        const scope = approvalScopes.find((known) => known === options['scope'])
        if (!scope)
          throw new UsageError(`"${options['scope']}" is not a scope`, `use --scope ${approvalScopes.join(', ')}`)
        const hash = options['hash'] === undefined ? undefined : String(options['hash'])
        const decision = hash === undefined ? await askBefore(here, id, scope) : { answer: scope, hash }
        if (decision === undefined) return { json: { ok: false }, text: `approval:${id} is still open`, code: 1 }
        return sendDecision(here, id, decision, options['wait'] !== false && decision.answer !== 'tomorrow')
      }),
    )

  program
    .command('deny <id>')
    .helpGroup('DECIDE')
    .description('deny a waiting call; the agent gets your reason')
    .option('--reason <text>', 'for the agent')
    .option('--no-wait', 'record the answer and return; `heddle up` continues the run')
    .action(
      run((here, [id = ''], options) =>
        sendDecision(
          here,
          id,
          { answer: 'no', ...(options['reason'] !== undefined && { reason: String(options['reason']) }) },
          options['wait'] !== false,
        ),
      ),
    )

  const grants = program
    .command('grants')
    .helpGroup('DECIDE')
    .description('list standing permissions (grants)')
    .action(
      run(async (here) => {
        const found = await (await here.client()).grants()
        const lines = found.flatMap((grant) => grantLines(here.screen, grant))
        const text = found.length > 0 ? `${lines.join('\n')}\nheddle grants revoke ID` : 'no grants yet'
        return { json: { grants: found }, text }
      }),
    )
  grants
    .command('revoke <id>')
    .description('revoke a grant; the next call asks again')
    .action(
      run(async (here, [id = '']) => {
        if (!/^\d{1,15}$/.test(id))
          throw new UsageError(`"${id}" is not the number of a grant`, 'heddle grants lists them')
        await (await here.client()).revokeGrant(Number(id))
        return { json: { ok: true }, text: `grant ${id} is revoked` }
      }),
    )
}

/** Whom a grant is for, and below it everything it covers. */
function grantLines(screen: Screen, grant: GrantView): string[] {
  const { id, scope, session, agent, folder, covers, lapses } = grant
  const who = scope === 'session' ? `every agent in session ${printable(session ?? '–')}` : `@${printable(agent)}`
  const until = lapses ? ', until a run may have changed a file there' : ''
  const head = wrapText(`${id}  ${who}, ${printable(folder)}${until}`, screen.columns, { words: true, hang: '   ' })
  return [...head, ...new ForeignText(screen, covers).rows(Number.POSITIVE_INFINITY)]
}

/**
 * Shows the question and reads the answer; undefined when the user leaves. Without a terminal, approving needs the hash of
 * what was shown elsewhere.
 */
async function askBefore(here: CommandContext, id: string, scope: Scope | 'tomorrow'): Promise<Decision | undefined> {
  const client = await here.client()
  const question = (await client.approvals()).find((each) => id === String(each.id) || id === `approval:${each.id}`)
  // The server rejects it with the reason: answered already, or unknown.
  if (!question) return { answer: scope, hash: 'not shown' }
  if (here.json || !canAsk(here))
    throw new UsageError(
      `without a terminal, approve needs --hash: approval:${question.id} was not shown to you here`,
      `heddle show approval:${question.id} shows it, and the command that approves it`,
      'hash_missing',
    )
  const decision = await askOnTerminal(here, client, question, here.stopped, scope)
  return decision === 'answered' ? { answer: scope, hash: question.hash } : decision
}

/** Sends the decision. Without a daemon, continues the request in this process until it ends or asks again. */
async function sendDecision(
  here: CommandContext,
  id: string,
  decision: Decision,
  wait: boolean,
): Promise<CommandResult> {
  const daemon = await here.daemon()
  const client = daemon ?? (await here.client())
  const since = here.clock.monotonic()
  const decided = await client.decide(id, decision)
  const notice = `approval:${decided.id} ${decisionWords(decision)}`
  if (!wait) {
    const work = daemon ? '' : '    heddle up runs it'
    return { json: { ok: true, ...decided }, text: `${notice}${work}` }
  }
  here.tell(notice)
  const { folder, session } = decided
  const work = daemon ? undefined : await (await here.heddle()).work({ folder, session })
  try {
    const answer = await awaitAnswer(here, client, decided)
    const after = () => waitForSummary(here, work, { ...answer, folder })
    return { json: answerJson(answer), text: pageOf(here, answer, since), code: exitCodeOf(answer), after }
  } catch (error) {
    await work?.stop()
    throw error
  }
}

function decisionWords({ answer }: Decision): string {
  if (answer === 'tomorrow') return 'continues tomorrow'
  return answer === 'no' ? 'denied' : 'approved'
}

/** Waits for the answer to the request, and asks the user its next questions where there is a terminal. */
async function awaitAnswer(
  here: CommandContext,
  client: Client,
  { folder, itemId }: { folder: string; itemId: string },
): Promise<RequestAnswer> {
  const signal = here.stopped
  const policy = canAsk(here) && !here.json ? 'wait' : 'fail'
  for (;;) {
    const answer = await client.answer(folder, itemId, signal)
    const asking = { policy, call: async () => undefined, signal } as const
    if (!answer.approvals || signal.aborted || (await answerQuestions(here, client, answer.approvals, asking)) !== true)
      return answer
  }
}

function pageOf(here: CommandContext, answer: RequestAnswer, since: number): string {
  return answer.status === 'waiting'
    ? needsYouLine(answer)
    : answerPage(here.screen, { ...answer, took: here.clock.monotonic() - since })
}

import type { Answered, GrantView } from '../domain/app.ts'
import type { Decision, Scope } from '../domain/approval.ts'
import { Misuse } from '../domain/errors.ts'
import type { Door } from '../gateway/api.ts'
import { answerPage } from './answer-page.ts'
import type { Answer, Here, Register } from './cli.ts'
import { answerQuestions, askOnTerminal } from './deciding.ts'
import { ForeignText } from './foreign-text.ts'
import { noteAndLeave } from './note-and-leave.ts'
import { canAsk } from './prompt.ts'
import { approveLine, questionPage, questionRow } from './question-page.ts'
import { printable, type Screen, table, wrapped } from './screen.ts'
import { answeredJson, exitCodeOf, needsYouLine } from './waiting.ts'

/** Rows of a text that a list shows; `show` shows all. */
const mostRows = 40

const scopes = ['once', 'session', 'agent', 'tomorrow'] as const

export const registerApprovals: Register = (program, run) => {
  program
    .command('approvals')
    .helpGroup('DECIDE')
    .description('calls that wait for your word')
    .action(
      run(async (here) => {
        const approvals = await (await here.door()).approvals()
        const [only] = approvals
        if (!only) return { json: { approvals }, text: 'nothing waits for you    heddle grants shows what you allowed' }
        const page =
          approvals.length === 1
            ? `${questionPage(here.screen, only, { most: mostRows })}\n${approveLine(only)}    heddle deny ${only.id} --reason "…"`
            : `${table(here.screen, approvals.map(questionRow), 3)}\nheddle show approval:ID    heddle approve ID    heddle deny ID --reason "…"`
        const json = approvals.map((each) => ({ ...each, approve: approveLine(each) }))
        return { json: { approvals: json }, text: page }
      }),
    )

  program
    .command('approve <id>')
    .helpGroup('DECIDE')
    .description('let a call that waits be made, exactly as it is shown')
    .option(
      '--scope <scope>',
      'once; session: also later ones like it here; agent: this agent in this folder; tomorrow: of a spent budget',
      'once',
    )
    .option(
      '--hash <hash>',
      'of what you were shown, as `heddle show approval:ID` tells it; without a terminal it is needed',
    )
    .option('--no-wait', 'only say it; `heddle up` does the work')
    .addHelpText('after', '\nExamples: heddle approve 3 --scope session    heddle approve 3 --hash 1a2b3c4d5e6f')
    .action(
      run(async (here, [id = ''], options) => {
        const scope = scopes.find((known) => known === options['scope'])
        if (!scope) throw new Misuse(`"${options['scope']}" is no scope`, `use --scope ${scopes.join(', ')}`)
        const hash = options['hash'] === undefined ? undefined : String(options['hash'])
        const said = hash === undefined ? await askBefore(here, id, scope) : { answer: scope, hash }
        if (said === undefined) return { json: { ok: false }, text: `approval:${id} still waits for you`, code: 1 }
        return decide(here, id, said, options['wait'] !== false && said.answer !== 'tomorrow')
      }),
    )

  program
    .command('deny <id>')
    .helpGroup('DECIDE')
    .description('say no to a call that waits; the agent is told why')
    .option('--reason <text>', 'told to the agent')
    .option('--no-wait', 'only say it; `heddle up` does the work')
    .action(
      run((here, [id = ''], options) =>
        decide(
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
    .description('what you allowed for more than one call')
    .action(
      run(async (here) => {
        const found = await (await here.door()).grants()
        const lines = found.flatMap((grant) => grantLines(here.screen, grant))
        const text = found.length > 0 ? `${lines.join('\n')}\nheddle grants revoke ID` : 'nothing is granted'
        return { json: { grants: found }, text }
      }),
    )
  grants
    .command('revoke <id>')
    .description('take it back: from the next call on you are asked again')
    .action(
      run(async (here, [id = '']) => {
        if (!/^\d+$/.test(id)) throw new Misuse(`"${id}" is not the number of a grant`, 'heddle grants lists them')
        await (await here.door()).revokeGrant(Number(id))
        return { json: { ok: true }, text: `grant ${id} is taken back` }
      }),
    )
}

/** Who it holds for, and below it what it covers: all of it, over as many rows as it needs. */
function grantLines(screen: Screen, grant: GrantView): string[] {
  const { id, scope, session, agent, folder, covers, lapses } = grant
  const who = scope === 'session' ? `every agent in session ${printable(session ?? '–')}` : `@${printable(agent)}`
  const until = lapses ? ', until a run changes a file there or may have' : ''
  const head = wrapped(`${id}  ${who}, ${printable(folder)}${until}`, screen.columns, { words: true, hang: '   ' })
  return [...head, ...new ForeignText(screen, covers).rows(Number.POSITIVE_INFINITY)]
}

/**
 * Shows the question and has it answered; undefined when the person leaves. Where nobody can be shown anything, a yes must
 * say what it is for.
 */
async function askBefore(here: Here, id: string, scope: Scope | 'tomorrow'): Promise<Decision | undefined> {
  const door = await here.door()
  const question = (await door.approvals()).find((each) => id === String(each.id) || id === `approval:${each.id}`)
  // Whatever else there is to say about it is said by whoever knows.
  if (!question) return { answer: scope, hash: 'not shown' }
  if (here.json || !canAsk(here))
    throw new Misuse(
      `without a terminal a yes must name what it is for: approval:${question.id} was not shown to you here`,
      `heddle show approval:${question.id} shows it, and the command that approves it`,
      'hash_missing',
    )
  const said = await askOnTerminal(here, door, question, here.stopped, scope)
  return said === 'answered' ? { answer: scope, hash: question.hash } : said
}

/** Says it, and, unless a daemon does the work, goes on with the request here until it is done or asks again. */
async function decide(here: Here, id: string, said: Decision, wait: boolean): Promise<Answer> {
  const daemon = await here.daemon()
  const door = daemon ?? (await here.door())
  const since = here.clock.monotonic()
  const decided = await door.decide(id, said)
  const told = `approval:${decided.id} ${saidWords(said)}`
  if (!wait) {
    const work = daemon ? '' : '    heddle up does the work'
    return { json: { ok: true, ...decided }, text: `${told}${work}` }
  }
  here.tell(told)
  const { folder, session } = decided
  const work = daemon ? undefined : await (await here.app()).work({ folder, session })
  try {
    const answer = await answerTo(here, door, decided)
    const after = () => noteAndLeave(here, work, { ...answer, folder })
    return { json: answeredJson(answer), text: pageOf(here, answer, since), code: exitCodeOf(answer), after }
  } catch (error) {
    await work?.stop()
    throw error
  }
}

function saidWords({ answer }: Decision): string {
  if (answer === 'tomorrow') return 'goes on tomorrow'
  return answer === 'no' ? 'denied' : 'approved'
}

/** Waits for the request; whoever is there is asked what it asks next. */
async function answerTo(
  here: Here,
  door: Door,
  { folder, itemId }: { folder: string; itemId: string },
): Promise<Answered> {
  const signal = here.stopped
  const policy = canAsk(here) && !here.json ? 'wait' : 'fail'
  for (;;) {
    const answer = await door.answer(folder, itemId, signal)
    const asking = { policy, call: async () => undefined, signal } as const
    if (!answer.approvals || signal.aborted || (await answerQuestions(here, door, answer.approvals, asking)) !== true)
      return answer
  }
}

function pageOf(here: Here, answer: Answered, since: number): string {
  return answer.status === 'waiting'
    ? needsYouLine(answer)
    : answerPage(here.screen, { ...answer, took: here.clock.monotonic() - since })
}

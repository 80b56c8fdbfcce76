import type { Answered, Question, WorkInProgress } from '../domain/app.ts'
import { Misuse } from '../domain/errors.ts'
import { tail } from '../domain/id.ts'
import type { Door } from '../gateway/api.ts'
import { isGone } from '../gateway/client.ts'
import { localDoor } from '../gateway/local-door.ts'
import { systemRandom } from '../system.ts'
import { answerPage } from './answer-page.ts'
import { agentNamed, askedFor } from './asked.ts'
import type { Here, Register } from './cli.ts'
import { answerQuestions, type OnApproval, onApprovalFrom } from './deciding.ts'
import { noteAndLeave } from './note-and-leave.ts'
import { callerOf } from './notify.ts'
import { terminalPane } from './pane.ts'
import { pickedUp } from './picked-up.ts'
import { Progress } from './progress.ts'
import { printable } from './screen.ts'
import { markSeen } from './seen.ts'
import { placeFor } from './smart-session.ts'
import { answeredJson, exitCodeOf, needsYouLine } from './waiting.ts'

export const registerAsk: Register = (program, run) => {
  program
    .command('ask [text]')
    .helpGroup('TALK')
    .description('ask something and wait for the answer; without text, or with -, stdin is the question')
    .option('-s, --session <label>', 'the session to ask in; a new label starts one (default: "main")')
    .option('--smart', 'ask in the session of this folder that the words belong to; says which, and why')
    .option('--smart-all', 'likewise, among the sessions of every folder')
    .option('-m, --model <name>', 'one of the models of heddle.yaml')
    .option('--agent <name>', 'who shall answer, as @name at the beginning does')
    .option('--file <path>', 'a file that goes with it, as @path in the text does; may be repeated', together, [])
    .option('--from <turn>', 'start a new session from this turn')
    .option('--timeout <seconds>', 'wait at most this long; the work goes on')
    .option('--no-wait', 'only hand it in; `heddle up` does the work')
    .option('--on-approval <how>', 'wait, fail (exit 3) or deny; on a terminal you are asked')
    .addHelpText(
      'after',
      '\nExamples: heddle ask "what does this folder hold?"    git diff | heddle ask "is this right?"',
    )
    .action(
      run(async (stood, [text], options) => {
        const asked = await askedFor(stood, text, options['file'] as string[])
        const { here, session, routed } = await placeFor(stood, asked.content, options)
        const question: Question = {
          session,
          ...asked,
          ...(options['agent'] !== undefined && { agent: await agentNamed(here, String(options['agent'])) }),
          ...(options['model'] !== undefined && { model: String(options['model']) }),
          ...(options['from'] !== undefined && { from: String(options['from']) }),
          // Whoever waits is told when a budget is spent; what is only handed in fails with that.
          ...(options['wait'] !== false && { waitsForBudget: true }),
          // Handed in again after a daemon died on us, it is the same question, whether it had arrived or not.
          dedupeKey: `ask:${Buffer.from(systemRandom.bytes(16)).toString('hex')}`,
        }
        const seconds = secondsFrom(options['timeout'])
        const asking = onApprovalFrom(here, options['onApproval'])
        const since = here.clock.monotonic()
        const { answer, after } =
          options['wait'] === false
            ? { answer: await handIn(here, question) }
            : await ask(here, question, { seconds, asking })
        if (answer.status !== 'accepted' && answer.status !== 'waiting') markSeen(stood)
        return {
          json: {
            ...answeredJson(answer),
            ...((answer.status === 'accepted' || answer.status === 'waiting') && { follow: followCommand(answer) }),
            ...(routed && { routed }),
          },
          text: await page(here, answer, here.clock.monotonic() - since),
          code: exitCodeOf(answer),
          ...(after && { after }),
        }
      }),
    )
}

async function handIn(here: Here, question: Question): Promise<Answered> {
  const submit = async (door: Door) => door.submit(here.folder, question)
  const daemon = await here.daemon()
  const alone = async () => submit(localDoor(await here.app()))
  const { session, runId, itemId, queuedBehind } = await (daemon
    ? submit(daemon).catch((error) => goOn(here, error, alone))
    : alone())
  return {
    ok: true,
    status: 'accepted',
    text: '',
    turnId: null,
    turns: [],
    runId,
    itemId,
    session,
    folder: here.folder,
    model: { requested: null, actual: null },
    usage: { inputTokens: 0, outputTokens: 0, cachedTokens: 0, costUsd: 0 },
    ...(queuedBehind !== undefined && { queuedBehind }),
  }
}

/** An answer, and what is still to be done when it has been shown. */
interface Heard {
  answer: Answered
  after?(): Promise<void>
}

/** Asks the daemon if it is up, else does the session's work in this process. */
async function ask(
  here: Here,
  question: Question,
  { seconds, asking }: { seconds: number | undefined; asking: OnApproval },
): Promise<Heard> {
  const { stopped } = here
  const enough = new AbortController()
  if (seconds !== undefined) void here.clock.sleep(seconds * 1000, enough.signal).then(() => enough.abort())
  const until = { stopped, enough: enough.signal, asking, call: callerOf(here) }
  const alone = () => askHere(here, question, until)
  try {
    const daemon = await here.daemon()
    if (!daemon) return await alone()
    return await askThrough(here, daemon, question, until)
      .then((answer): Heard => ({ answer }))
      .catch((error) => goOn(here, error, alone))
  } finally {
    enough.abort()
  }
}

/** What was handed in is durable: without the daemon the same question is answered here. */
function goOn<T>(here: Here, error: unknown, alone: () => Promise<T>): Promise<T> {
  if (!isGone(error)) throw error
  here.tell('the daemon is gone; nothing is lost, going on without it')
  return alone()
}

interface Until {
  /** Ctrl-C: the run is cancelled. */
  stopped: AbortSignal
  /** The time is up: the work goes on without us. */
  enough: AbortSignal
  /** What becomes of questions. */
  asking: OnApproval
  call(text: string): Promise<void>
}

async function askHere(here: Here, question: Question, until: Until): Promise<Heard> {
  const app = await here.app()
  let work: WorkInProgress | undefined
  const answer = await askThrough(here, localDoor(app), question, until, async (session) => {
    work = await app.work({ folder: here.folder, session })
    const told = pickedUp(work)
    if (told !== undefined) here.tell(told)
  }).catch(async (error) => {
    await work?.stop()
    throw error
  })
  return { answer, after: () => noteAndLeave(here, work, answer) }
}

/** Hands the question in and waits for its answer; shows meanwhile what is said. Leaves nothing running behind. */
async function askThrough(
  here: Here,
  door: Door,
  question: Question,
  { stopped, enough, asking, call }: Until,
  begin: (session: string) => Promise<void> = async () => undefined,
): Promise<Answered> {
  let cursor = await door.cursor()
  const { itemId, session, runId } = await door.submit(here.folder, question)
  await begin(session)
  const until = AbortSignal.any([stopped, enough])
  for (;;) {
    const over = new AbortController()
    const showing = showSpeech(here, door, { session, runId, cursor }, over.signal)
    const now = await door.answer(here.folder, itemId, until).finally(() => {
      over.abort()
      return showing
    })
    const said =
      now.approvals &&
      !until.aborted &&
      (await answerQuestions(here, door, now.approvals, { policy: asking, call, signal: until }))
    if (said === 'tomorrow') return withoutQuestions(now)
    if (said) {
      cursor = await door.cursor()
      continue
    }
    if (now.status !== 'waiting' || !stopped.aborted || now.runId === null) return now
    await door.cancel(now.runId, 'stopped by Ctrl-C')
    return await door.answer(here.folder, itemId, new AbortController().signal)
  }
}

/** Nothing is asked any more: it goes on by itself, later than anybody waits. */
function withoutQuestions({ approvals: _, questions: __, ...answer }: Answered): Answered {
  return answer
}

/** Shows what the session's run says while it says it, to a person only; the answer takes its place. */
async function showSpeech(
  here: Here,
  door: Door,
  asked: { session: string; runId: string | null; cursor: string | null },
  signal: AbortSignal,
): Promise<void> {
  if (!here.screen.isTerminal || here.json) return
  const pane = terminalPane(here.screen, here.io.stdout)
  const progress = new Progress(here.screen, { ...asked, folder: here.folder })
  try {
    for await (const told of door.stream({ ...(asked.cursor !== null && { after: asked.cursor }), signal })) {
      progress.hear(told)
      pane.show(progress.text)
    }
  } catch {
    // Only a show: whether the daemon lives, the answer tells.
  } finally {
    pane.close()
  }
}

async function page(here: Here, answer: Answered, took: number): Promise<string> {
  if (answer.approvals) return needsYouLine(answer)
  if (answer.status === 'accepted' || answer.status === 'waiting') {
    const work = (await here.daemon()) ? '' : 'heddle up does the work, '
    return `${standing(answer)}    ${work}${followCommand(answer)} shows it`
  }
  return answerPage(here.screen, { ...answer, took })
}

/** Where something that is not answered yet stands. */
function standing({ status, runId, queuedBehind, session }: Answered): string {
  if (queuedBehind !== undefined) return `queued behind run:${tail(queuedBehind)}`
  const what = status === 'accepted' ? 'handed in' : 'still under way'
  return `${what}: ${runId === null ? printable(session) : `run:${tail(runId)}`}`
}

/** An input that no run has taken is followed by its session: that shows the run that takes it, too. */
function followCommand({ runId, session }: Answered): string {
  return `heddle watch ${runId === null ? `session:${printable(session)}` : `run:${tail(runId)}`}`
}

function together(path: string, before: string[]): string[] {
  return [...before, path]
}

function secondsFrom(value: unknown): number | undefined {
  if (value === undefined) return undefined
  const seconds = Number(value)
  if (!(seconds > 0)) throw new Misuse(`"${value}" is not a number of seconds`, 'give a number above 0')
  return seconds
}

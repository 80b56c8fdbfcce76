import { Option } from 'commander'
import type { Question, RequestAnswer, SubmitResult } from '../../api/views/question.ts'
import type { WorkInProgress } from '../../api/views/run.ts'
import { shortId } from '../../domain/id.ts'
import { spendingOf } from '../../domain/spending.ts'
import type { Client } from '../../gateway/api.ts'
import { isDaemonGone } from '../../gateway/daemon-request.ts'
import { enterWorkspace } from '../../home/folder.ts'
import { systemRandom } from '../../system.ts'
import { answerQuestions, type OnApproval, onApprovalFrom } from '../approvals/answer-approvals.ts'
import { markSeen } from '../chat/last-visit.ts'
import { userNotifier } from '../chat/notify.ts'
import type { CommandContext, Register } from '../command.ts'
import { answerJson, exitCodeOf, needsYouLine } from '../exit-codes.ts'
import { commaNames } from '../input/comma-names.ts'
import { secondsFrom } from '../input/counts.ts'
import { checkAgentName, readPrompt } from '../input/read-prompt.ts'
import { chooseSession } from '../input/smart-session.ts'
import { thinkingLevel } from '../input/thinking-level.ts'
import { Progress } from '../live/progress.ts'
import { recoveryNotice } from '../live/recovery-notice.ts'
import { answerPage, answerText, lastLine } from '../pages/answer-page.ts'
import { routeLine } from '../pages/route-line.ts'
import { terminalPane } from '../terminal/pane.ts'
import { printable } from '../terminal/screen.ts'
import { waitForSummary } from '../wait-for-summary.ts'

export const registerAsk: Register = (program, run) => {
  program
    .command('ask [text]')
    .helpGroup('TALK')
    .description('ask a question and wait for the answer; reads stdin if there is no text, or with -')
    .option('-s, --session <session>', 'a label, turn:ID or persona:ID; a new label starts one (default: "main")')
    .option('--persona <id>', 'the persona to ask: in its main session, or with -s in a new one')
    .option('--smart', 'pick the session that fits the question; prints which and why')
    .option('--smart-all', 'the same, in the sessions of all folders')
    .option('-m, --model <name>', 'a model from heddle.yaml')
    .option('--think <level>', 'off, low, medium or high, if the model supports it')
    .option('--agent <name>', 'the agent that answers, like @name at the beginning')
    .option('--allow <tools>', 'the only tools for this question, separated by commas')
    .option('--deny <tools>', 'tools that this question may not use, separated by commas')
    .option('--file <path>', 'a file to attach, like @path in the text; may be repeated', appendPath)
    .option('--from <turn>', 'start a new session from this turn')
    .option('--timeout <seconds>', 'wait at most this long; the work continues')
    .addOption(new Option('--no-wait', 'queue it and return; `heddle up` runs it').conflicts(['timeout', 'onApproval']))
    .option('--on-approval <how>', 'wait, fail (exit 3) or deny; on a terminal you are asked')
    .addHelpText(
      'after',
      '\nExamples: heddle ask "what is in this folder?"\n          git diff | heddle ask "is this right?"',
    )
    .action(
      run(async (context, [text], options) => {
        const { prompt, notices } = await readPrompt(context, text, (options['file'] as string[] | undefined) ?? [])
        const { here, session, routed } = await chooseSession(context, prompt.content, options)
        const notice = here.folder === context.folder && enterWorkspace(here.io.cwd, here.folder, here)
        if (notice) here.tell(notice)
        const question: Question = {
          session,
          ...prompt,
          ...(options['agent'] !== undefined && { agent: await checkAgentName(here, String(options['agent'])) }),
          ...(options['model'] !== undefined && { model: String(options['model']) }),
          ...(options['from'] !== undefined && { from: String(options['from']) }),
          ...(options['persona'] !== undefined && { persona: String(options['persona']) }),
          ...(options['think'] !== undefined && { thinking: { level: thinkingLevel(String(options['think'])) } }),
          ...permissionsFrom(options),
          // A waiting user is asked when a budget is spent; a question that is only queued fails then.
          ...(options['wait'] !== false && { waitsForBudget: true }),
          // Makes a retry after the daemon died idempotent.
          dedupeKey: `ask:${Buffer.from(systemRandom.bytes(16)).toString('hex')}`,
        }
        const seconds = options['timeout'] === undefined ? undefined : secondsFrom(options['timeout'])
        const asking = onApprovalFrom(here, options['onApproval'])
        const since = here.clock.monotonic()
        const { answer, after } =
          options['wait'] === false
            ? { answer: await handIn(here, question) }
            : await askEngine(here, question, { seconds, asking })
        if (answer.status !== 'accepted' && answer.status !== 'waiting') markSeen(context)
        for (const id of answer.unstartedPlans ?? []) here.tell(`plan:${id} was not started: heddle plans plan:${id}`)
        return {
          json: {
            ...answerJson(answer),
            ...((answer.status === 'accepted' || answer.status === 'waiting') && { follow: followCommand(answer) }),
            ...(routed && { routed }),
            ...(notices.length > 0 && { notices }),
          },
          text: await askPage(here, answer, here.clock.monotonic() - since),
          code: exitCodeOf(answer),
          ...(after && { after }),
        }
      }),
    )
}

/** Permissions that narrow what this question may do. */
function permissionsFrom(options: Record<string, unknown>): Pick<Question, 'permissions'> {
  const lists = (['allow', 'deny'] as const).flatMap((list) =>
    options[list] === undefined ? [] : [[list, commaNames(String(options[list]))] as const],
  )
  return lists.length === 0 ? {} : { permissions: { tools: Object.fromEntries(lists) } }
}

async function handIn(here: CommandContext, question: Question): Promise<RequestAnswer> {
  const submit = (client: Client) => submitTo(here, client, question)
  const daemon = await here.daemon()
  const alone = async () => submit(await here.app())
  const { session, runId, itemId, queuedBehind } = await (daemon
    ? submit(daemon).catch((error) => continueAlone(here, error, alone))
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
    usage: spendingOf([]),
    ...(queuedBehind !== undefined && { queuedBehind }),
  }
}

/** Submits a question, and says which of its options do not hold. */
async function submitTo(here: CommandContext, client: Client, question: Question): Promise<SubmitResult> {
  const submitted = await client.submit(here.folder, question)
  const { priority, timeoutSeconds } = submitted.limitedTo ?? {}
  if (priority !== undefined) here.tell(`priority lowered to ${priority}, the maximum for your role`)
  if (timeoutSeconds !== undefined)
    here.tell(`your role allows ${timeoutSeconds} seconds at most: the run ends after that`)
  if (submitted.routedTo) here.tell(routeLine(submitted.routedTo))
  return submitted
}

/** An answer, and work to do after it was shown. */
interface AskResult {
  answer: RequestAnswer
  after?(): Promise<void>
}

/** Asks the daemon if it is up, else does the session's work in this process. */
async function askEngine(
  here: CommandContext,
  question: Question,
  { seconds, asking }: { seconds: number | undefined; asking: OnApproval },
): Promise<AskResult> {
  const { stopped } = here
  const enough = new AbortController()
  if (seconds !== undefined) void here.clock.sleep(seconds * 1000, enough.signal).then(() => enough.abort())
  const hangup = new AbortController()
  here.io.signals.on('SIGHUP', () => hangup.abort())
  const until = { stopped, enough: enough.signal, asking, call: userNotifier(here) }
  const alone = () => askHere(here, question, until)
  try {
    const daemon = await here.daemon()
    if (!daemon) return await alone()
    return await askThrough(here, daemon, question, { ...until, hangup: hangup.signal })
      .then((answer): AskResult => ({ answer }))
      .catch((error) => continueAlone(here, error, alone))
  } finally {
    enough.abort()
  }
}

/** Continues in this process when the daemon is gone: the question is durable. Rethrows every other error. */
function continueAlone<T>(here: CommandContext, error: unknown, alone: () => Promise<T>): Promise<T> {
  if (!isDaemonGone(error)) throw error
  here.tell('lost connection to the daemon; nothing is lost, continuing here')
  return alone()
}

interface WaitOptions {
  /** Ctrl-C: the run is cancelled. */
  stopped: AbortSignal
  /** A closed terminal, where it cancels nothing: the daemon continues without us. */
  hangup?: AbortSignal
  /** The timeout: the work continues without us. */
  enough: AbortSignal
  /** How approvals are answered. */
  asking: OnApproval
  call(text: string): Promise<void>
}

async function askHere(here: CommandContext, question: Question, until: WaitOptions): Promise<AskResult> {
  const heddle = await here.heddle()
  let work: WorkInProgress | undefined
  const answer = await askThrough(here, await here.app(), question, until, async (session) => {
    work = await heddle.work({ folder: here.folder, session })
    const notice = recoveryNotice(work)
    if (notice !== undefined) here.tell(notice)
  }).catch(async (error) => {
    await work?.stop()
    throw error
  })
  return { answer, after: () => waitForSummary(here, work, answer) }
}

/** Submits the question and waits for the answer, showing the stream meanwhile. Leaves nothing running. */
async function askThrough(
  here: CommandContext,
  client: Client,
  question: Question,
  { stopped, hangup, enough, asking, call }: WaitOptions,
  begin: (session: string) => Promise<void> = async () => undefined,
): Promise<RequestAnswer> {
  let cursor = await client.cursor()
  const { itemId, session, runId } = await submitTo(here, client, question)
  await begin(session)
  const until = AbortSignal.any([stopped, enough])
  for (;;) {
    const over = new AbortController()
    const showing = showStream(here, client, { session, runId, cursor }, over.signal)
    const now = await client.answer(here.folder, itemId, until).finally(() => {
      over.abort()
      return showing
    })
    const decision =
      now.approvals &&
      !until.aborted &&
      (await answerQuestions(here, client, now.approvals, { policy: asking, call, signal: until }))
    if (decision === 'tomorrow') return withoutQuestions(now)
    if (decision) {
      cursor = await client.cursor()
      continue
    }
    if (now.status !== 'waiting' || !stopped.aborted || hangup?.aborted || now.runId === null) return now
    await client.cancel(now.runId, 'stopped by Ctrl-C')
    return await client.answer(here.folder, itemId, new AbortController().signal)
  }
}

/** The answer without its questions: they are answered, and the run continues tomorrow. */
function withoutQuestions({ approvals: _, questions: __, ...answer }: RequestAnswer): RequestAnswer {
  return answer
}

/** Streams the run's text on a terminal until the answer replaces it; notices stay. */
async function showStream(
  here: CommandContext,
  client: Client,
  target: { session: string; runId: string | null; cursor: string | null },
  signal: AbortSignal,
): Promise<void> {
  if (here.json) return
  const pane = here.screen.isTerminal ? terminalPane(here.screen, here.io.stdout) : undefined
  const progress = new Progress(here.screen, { ...target, folder: here.folder })
  try {
    for await (const item of client.stream({ ...(target.cursor !== null && { after: target.cursor }), signal })) {
      progress.apply(item)
      pane?.show(progress.text)
    }
  } catch {
    // Display only: a lost daemon is handled where the answer is awaited.
  } finally {
    pane?.close()
    for (const notice of progress.notices) here.tell(notice)
  }
}

async function askPage(here: CommandContext, answer: RequestAnswer, took: number): Promise<string> {
  if (answer.approvals) return needsYouLine(answer)
  if (answer.status === 'accepted' || answer.status === 'waiting') {
    const work = (await here.daemon()) ? '' : 'heddle up runs it, '
    return `${progressWords(answer)}    ${work}${followCommand(answer)} shows it`
  }
  if (here.screen.isTerminal || here.json) return answerPage(here.screen, { ...answer, took })
  // Pipes and files get the answer only; the footer goes to stderr.
  here.tell(lastLine(here.screen, { ...answer, took }))
  return answerText(here.screen, { ...answer, took })
}

/** Progress of a question that is not answered yet. */
function progressWords({ status, runId, queuedBehind, session, until }: RequestAnswer): string {
  const later = until === undefined ? '' : `, which continues at ${until.slice(0, 16).replace('T', ' ')} UTC`
  if (queuedBehind !== undefined) return `queued behind run:${shortId(queuedBehind)}${later}`
  const what = status === 'accepted' ? 'queued' : 'still running'
  return `${what}: ${runId === null ? printable(session) : `run:${shortId(runId)}`}${later}`
}

/** The command that follows the run; before a run has taken the question, the session. */
function followCommand({ runId, session }: RequestAnswer): string {
  return `heddle watch ${runId === null ? `session:${printable(session)}` : `run:${shortId(runId)}`}`
}

function appendPath(path: string, before: string[] = []): string[] {
  return [...before, path]
}

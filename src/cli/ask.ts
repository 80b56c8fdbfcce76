import { readFileSync } from 'node:fs'
import type { Answered, App } from '../domain/app.ts'
import { Misuse } from '../domain/errors.ts'
import { tail } from '../domain/id.ts'
import type { Answer, Here, Register } from './cli.ts'
import { paint, printable } from './screen.ts'

const exitCodes: Record<Answered['status'], number> = {
  completed: 0,
  accepted: 0,
  failed: 1,
  timeout: 1,
  waiting: 124,
  cancelled: 130,
}

export const registerAsk: Register = (program, run) => {
  program
    .command('ask <text>')
    .helpGroup('TALK')
    .description('ask something and wait for the answer; - reads the question from stdin')
    .option('-s, --session <label>', 'the session to ask in; a new label starts one', 'main')
    .option('-m, --model <name>', 'one of the models of heddle.yaml')
    .option('--from <turn>', 'start a new session from this turn')
    .option('--timeout <seconds>', 'wait at most this long; the work goes on')
    .option('--no-wait', 'only hand it in; `heddle up` does the work')
    .addHelpText('after', '\nExample: heddle ask "what does this folder hold?"')
    .action(
      run(async (here, [text = ''], options) => {
        const app = await here.app()
        const { itemId, session, runId } = await app.submit(here.folder, {
          session: String(options['session']),
          content: text === '-' ? readFileSync(0, 'utf8') : text,
          ...(options['model'] !== undefined && { model: String(options['model']) }),
          ...(options['from'] !== undefined && { from: String(options['from']) }),
        })
        if (options['wait'] === false) return told(here, accepted(here, session, runId))
        return told(here, await answered(here, app, itemId, session, secondsFrom(options['timeout'])))
      }),
    )
}

/** Does the session's work in this process until the question is answered, and leaves nothing running behind. */
async function answered(here: Here, app: App, itemId: string, session: string, timeout?: number): Promise<Answered> {
  const work = await app.work({ folder: here.folder, session })
  if (work.resumed.length > 0) here.tell(`picked up after a crash: ${work.resumed.length} resumed, 0 lost`)
  const { stopped } = here
  const enough = new AbortController()
  if (timeout !== undefined) void here.clock.sleep(timeout * 1000, enough.signal).then(() => enough.abort())
  try {
    const first = await app.answer(here.folder, itemId, AbortSignal.any([stopped, enough.signal]))
    if (first.status !== 'waiting' || !stopped.aborted || first.runId === null) return first
    await app.cancel(first.runId, 'stopped by Ctrl-C')
    return await app.answer(here.folder, itemId, new AbortController().signal)
  } finally {
    enough.abort()
    await work.stop()
  }
}

function accepted(here: Here, session: string, runId: string | null): Answered {
  return {
    ok: true,
    status: 'accepted',
    text: '',
    turnId: null,
    turns: [],
    runId,
    session,
    folder: here.folder,
    model: { requested: null, actual: null },
    usage: { inputTokens: 0, outputTokens: 0, cachedTokens: 0, costUsd: 0 },
  }
}

function told(here: Here, answer: Answered): Answer {
  return { json: answer, text: screen(here, answer), code: exitCodes[answer.status] }
}

function screen(here: Here, answer: Answered): string {
  if (answer.status === 'accepted')
    return `handed in for session ${answer.session}    heddle up does the work, heddle ps shows it`
  if (answer.status === 'waiting')
    return `still under way${answer.runId ? `: run:${tail(answer.runId)}` : ''}    heddle up goes on with it, heddle ps shows it`
  const { inputTokens, outputTokens, costUsd } = answer.usage
  const facts = [
    `turn:${tail(answer.turnId ?? '')}`,
    printable(answer.model.actual ?? 'no model answered'),
    `${inputTokens} in, ${outputTokens} out`,
    `$${costUsd.toFixed(4)}`,
    `heddle show turn:${tail(answer.turnId ?? '')}`,
  ]
  return `${printable(answer.text, { lines: true })}\n${paint(here.screen, 'dim', facts.join(' · '))}`
}

function secondsFrom(value: unknown): number | undefined {
  if (value === undefined) return undefined
  const seconds = Number(value)
  if (!(seconds > 0)) throw new Misuse(`"${value}" is not a number of seconds`, 'give a number above 0')
  return seconds
}

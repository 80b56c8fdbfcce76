import { Option } from 'commander'
import type { Event } from '../../domain/event.ts'
import { isDaemonGone } from '../../gateway/client.ts'
import { type CommandContext, type Register, rareGroup } from '../command.ts'
import { wholeNumber } from '../input/counts.ts'
import { ago, printable } from '../terminal/screen.ts'

export const registerEvents: Register = (program, run) => {
  program
    .command('event')
    .alias('events')
    .helpGroup(rareGroup)
    .description('print the event log; --after continues from a cursor')
    .option('--after <cursor>', 'only events after this cursor')
    .option('--limit <n>', 'at most this many', '100')
    .addOption(
      new Option(
        '-w, --watch',
        'keep running and print each event as it happens; with --json one document per line',
      ).conflicts('limit'),
    )
    .action(
      run(async (here, _args, options) => {
        const after = options['after'] === undefined ? {} : { after: String(options['after']) }
        if (options['watch'] === true) {
          await watch(here, options['after'] === undefined ? undefined : String(options['after']))
          return undefined
        }
        const events = await (await here.client()).events({
          ...after,
          limit: wholeNumber(options['limit'], { what: 'number of events' }),
        })
        const cursor = events.at(-1)?.cursor ?? options['after'] ?? null
        const more = cursor ? [`cursor ${cursor}`] : []
        return {
          json: { events, cursor },
          text:
            events.length > 0
              ? [...events.map((event) => line(here, event)), ...more].join('\n')
              : options['after'] === undefined
                ? 'no events yet    heddle ask "…"'
                : 'no events after this cursor    heddle event --watch',
        }
      }),
    )

  program
    .command('gc')
    .helpGroup(rareGroup)
    .description('delete events older than retention.eventDays; turns are never deleted')
    .action(
      run(async (here) => {
        const pruned = await (await here.client()).prune()
        return { json: { ok: true, ...pruned }, text: `deleted ${pruned.events} events` }
      }),
    )
}

/** Prints events until the user leaves; without the daemon once that is gone. */
async function watch(here: CommandContext, from: string | undefined): Promise<void> {
  let after = from
  let client = await here.client()
  while (!here.stopped.aborted)
    try {
      for await (const event of client.follow({ ...(after !== undefined && { after }), signal: here.stopped })) {
        after = event.cursor
        await here.write(here.json ? `${JSON.stringify(event)}\n` : `${line(here, event)}\n`)
      }
    } catch (error) {
      if (!isDaemonGone(error)) throw error
      here.tell('the daemon is gone; nothing is lost, continuing without it')
      client = await here.app()
    }
}

function line(here: CommandContext, { at, kind, subject, payload }: Event): string {
  // Whole ids of what the subject is part of are for programs.
  const { sessionId: _, root: __, ...told } = payload
  const facts = Object.entries(told).map(([name, value]) => `${name} ${printable(String(value))}`)
  return [
    ago(new Date(at).toISOString(), here.clock.now()).padStart(8),
    kind.padEnd(16),
    printable(subject),
    ...facts,
  ].join('  ')
}

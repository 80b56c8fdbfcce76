import { Option } from 'commander'
import type { Event } from '../../domain/event.ts'
import { countNoun } from '../../domain/text/count-noun.ts'
import { isDaemonGone } from '../../gateway/daemon-request.ts'
import { type CommandContext, type Register, rareGroup } from '../command.ts'
import { wholeNumber } from '../input/counts.ts'
import { wholeInput } from '../input/piped-input.ts'
import { formatAge, printable } from '../terminal/screen.ts'
import { waitsForDaemon, withDaemonHint } from './jobs/daemon-hint.ts'

export const registerEvents: Register = (program, run) => {
  const event = program
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

  event
    .command('emit <name>')
    .description('emit an event: the jobs that wait for it fire')
    .option('--data <text>', 'given to them as data; - reads it from stdin')
    .addHelpText(
      'after',
      '\nExample: heddle cron add --on deploy.done --message "Check the site"\n         heddle event emit deploy.done',
    )
    .action(
      run(async (here, [name = ''], options) => {
        const data = options['data'] === undefined ? undefined : String(options['data'])
        const fires = await (await here.client()).emitEvent(
          name,
          data === '-' ? String(await wholeInput(here.io)) : data,
        )
        const skipped = fires.filter(({ outcome }) => outcome !== 'fired')
        const busy = skipped.length > 0 ? `, ${skipped.length} skipped: ${skipped[0]?.reason}` : ''
        const text =
          fires.length > 0
            ? await withDaemonHint(
                here,
                `${countNoun(fires.length - skipped.length, 'job')} fired${busy}    heddle cron history`,
                waitsForDaemon,
              )
            : `no job waits for ${printable(name)}    heddle cron add --on ${printable(name)} --message "…"`
        return { json: { ok: true, fires }, text }
      }),
    )

  program
    .command('gc')
    .helpGroup(rareGroup)
    .description('delete events, past runs of jobs and sent messages older than retention.eventDays; never turns')
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
    formatAge(new Date(at).toISOString(), here.clock.now()).padStart(8),
    kind.padEnd(16),
    printable(subject),
    ...facts,
  ].join('  ')
}

import { Option } from 'commander'
import type { Event } from '../../domain/event.ts'
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
        const app = await here.app()
        const after = options['after'] === undefined ? {} : { after: String(options['after']) }
        if (options['watch'] === true) {
          for await (const event of app.follow({ ...after, signal: here.stopped }))
            await here.write(here.json ? `${JSON.stringify(event)}\n` : `${line(here, event)}\n`)
          return undefined
        }
        const events = await app.events({
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
        const pruned = await (await here.app()).prune()
        return { json: { ok: true, ...pruned }, text: `deleted ${pruned.events} events` }
      }),
    )
}

function line(here: CommandContext, { at, kind, subject, payload }: Event): string {
  const facts = Object.entries(payload).map(([name, value]) => `${name} ${printable(String(value))}`)
  return [
    ago(new Date(at).toISOString(), here.clock.now()).padStart(8),
    kind.padEnd(16),
    printable(subject),
    ...facts,
  ].join('  ')
}

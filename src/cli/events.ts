import { Misuse } from '../domain/errors.ts'
import type { Event } from '../domain/event.ts'
import { type Here, type Register, rareGroup } from './cli.ts'
import { ago, printable } from './screen.ts'

export const registerEvents: Register = (program, run) => {
  program
    .command('event')
    .alias('events')
    .helpGroup(rareGroup)
    .description('what happened, in order; the cursor of the last one reads on from there')
    .option('--after <cursor>', 'only what came after this cursor')
    .option('--limit <n>', 'at most this many', '100')
    .option('-w, --watch', 'stay and tell each event as it happens, one JSON document per line with --json')
    .action(
      run(async (here, _args, options) => {
        const app = await here.app()
        const after = options['after'] === undefined ? {} : { after: String(options['after']) }
        if (options['watch'] === true) {
          for await (const event of app.follow({ ...after, signal: here.stopped }))
            await here.write(here.json ? `${JSON.stringify(event)}\n` : `${line(here, event)}\n`)
          return undefined
        }
        const events = await app.events({ ...after, limit: limitFrom(options['limit']) })
        const cursor = events.at(-1)?.cursor ?? options['after'] ?? null
        const more = cursor ? [`cursor ${cursor}`] : []
        return {
          json: { events, cursor },
          text:
            events.length > 0
              ? [...events.map((event) => line(here, event)), ...more].join('\n')
              : 'nothing happened since    heddle event --watch',
        }
      }),
    )

  program
    .command('gc')
    .helpGroup(rareGroup)
    .description('forget events older than retention.eventDays; turns are never forgotten')
    .action(
      run(async (here) => {
        const pruned = await (await here.app()).prune()
        return { json: { ok: true, ...pruned }, text: `forgot ${pruned.events} events` }
      }),
    )
}

function line(here: Here, { at, kind, subject, payload }: Event): string {
  const facts = Object.entries(payload).map(([name, value]) => `${name} ${printable(String(value))}`)
  return [
    ago(new Date(at).toISOString(), here.clock.now()).padStart(8),
    kind.padEnd(16),
    printable(subject),
    ...facts,
  ].join('  ')
}

function limitFrom(value: unknown): number {
  const limit = Number(value)
  if (!Number.isInteger(limit) || limit < 1)
    throw new Misuse(`"${value}" is not a number of events`, 'give a whole number from 1')
  return limit
}

import { hash } from 'node:crypto'
import pg from 'pg'
import type { Millis } from '../../domain/clock.ts'
import type { Hint, StoreContext } from '../store.ts'

const minPause: Millis = 50
const maxReconnectPause: Millis = 5000
/** A payload of PostgreSQL holds 8000 bytes. */
const maxHints = 200
/** What may have happened while this process did not listen; waiters of single requests look again by themselves. */
const anything: readonly Hint[] = ['events', 'runs', 'cancel', 'due']

/** Carries hints between the processes of one database. Best effort: a lost hint is found by the sweep. */
interface HintChannel {
  /** Starts to deliver the hints of other processes. */
  listen(): void
  /** Sends hints to other processes: those that come while a message is under way share the next one. */
  send(hints: Iterable<Hint>): void
  /** Sends what is left and disconnects. */
  close(): Promise<void>
}

/**
 * Opens a channel on a connection of its own, made on first use: a NOTIFY in the transaction of a change would hold a lock
 * that all notifying commits share, and a LISTEN on a connection of the pool would end with it.
 */
export function hintChannel(
  { connection, schema }: { connection: pg.ClientConfig; schema: string },
  { clock, random }: Pick<StoreContext, 'clock' | 'random'>,
  deliver: (hint: Hint) => void,
): HintChannel {
  const name = `heddle_${hash('sha256', schema).slice(0, 16)}`
  const self = Buffer.from(random.bytes(8)).toString('hex')
  const closed = new AbortController()
  const pending = new Set<Hint>()
  let running: Promise<void> | undefined
  let connecting: Promise<unknown> = Promise.resolve()
  let client: pg.Client | undefined
  let sending: Promise<void> | undefined

  return {
    listen: start,
    send(hints) {
      for (const hint of hints) pending.add(hint)
      // A long outage must not collect hints that no process waits for any more.
      if (client === undefined && pending.size > maxHints) pending.clear()
      if (pending.size === 0) return
      start()
      flush()
    },
    async close() {
      await connecting
      await sending
      closed.abort()
      await client?.end().catch(() => undefined)
      await running
    },
  }

  function start(): void {
    running ??= keepConnected()
  }

  async function keepConnected(): Promise<void> {
    let pause = minPause
    for (let tries = 1; !closed.signal.aborted; tries++) {
      const next = new pg.Client(connection)
      const ended = Promise.withResolvers<void>()
      next.on('error', () => ended.resolve())
      next.on('end', () => ended.resolve())
      next.on('notification', ({ payload = '' }) => receive(payload))
      const connected = connect(next)
      connecting = connected
      if (await connected) {
        pause = minPause
        client = next
        if (tries > 1) for (const hint of anything) deliver(hint)
        flush()
        await ended.promise
        client = undefined
      }
      await next.end().catch(() => undefined)
      if (closed.signal.aborted) return
      await clock.sleep(pause, closed.signal)
      pause = Math.min(pause * 2, maxReconnectPause)
    }
  }

  async function connect(next: pg.Client): Promise<boolean> {
    try {
      await next.connect()
      // A hint needs no fsync.
      await next.query('SET synchronous_commit TO off')
      await next.query(`LISTEN ${name}`)
      return true
    } catch {
      return false
    }
  }

  function flush(): void {
    sending ??= sendAll().then(() => {
      sending = undefined
      // Came after the last look.
      if (client && pending.size > 0) flush()
    })
  }

  /** Must not throw: whatever cannot be sent is found by the sweep. */
  async function sendAll(): Promise<void> {
    while (client && pending.size > 0) {
      const hints = [...pending].slice(0, maxHints)
      for (const hint of hints) pending.delete(hint)
      await client.query('SELECT pg_notify($1, $2)', [name, [self, ...hints].join(' ')]).catch(() => undefined)
    }
  }

  function receive(payload: string): void {
    const [from, ...hints] = payload.split(' ')
    // Our own listeners were told when we committed.
    if (from !== self) for (const hint of hints) deliver(hint as Hint)
  }
}

import type { Event, LiveDelta } from '../api/wire.ts'

/** Receives what the stream of events sends. */
interface StreamListener {
  onOpen(): void
  onEvent(event: Event): void
  onDelta(delta: LiveDelta): void
  /** Everything up to this cursor was sent. */
  onCursor(cursor: string): void
  /** The connection broke; it is opened again after a pause. */
  onLost(): void
}

const firstPause = 300
const longestPause = 5000

/** Reads the stream of events from the listener's cursor on, and reconnects as long as the page is open. */
export function readStream(cursor: () => string | null, listener: StreamListener): void {
  let source: EventSource | undefined
  let pause = firstPause

  const reopen = (after: number) => {
    source?.close()
    source = undefined
    window.setTimeout(open, after)
  }
  const open = () => {
    const after = cursor()
    source = new EventSource(after === null ? '/v1/events' : `/v1/events?after=${encodeURIComponent(after)}`)
    source.onopen = () => {
      pause = firstPause
      listener.onOpen()
    }
    source.onmessage = ({ data }) => listener.onEvent(JSON.parse(data))
    source.addEventListener('live', ({ data }) => listener.onDelta(JSON.parse(data)))
    // This tab read too slowly: nothing is lost, the rest follows after the cursor.
    source.addEventListener('dropped', ({ data }) => {
      const last = JSON.parse(data) as { cursor: string | null }
      if (last.cursor !== null) listener.onCursor(last.cursor)
      reopen(0)
    })
    source.onerror = () => {
      listener.onLost()
      reopen(pause)
      pause = Math.min(pause * 2, longestPause)
    }
  }
  open()
}

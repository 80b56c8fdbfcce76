import { readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'

/** Ticks of the processor in a second, as /proc counts them on Linux. */
const ticksPerSecond = 100

/** Processor time in ms that a PostgreSQL on this machine has taken so far, with all its processes. */
export async function serverTime(url: string): Promise<number> {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const server = statOf(String(rows[0]?.pid))?.parent
  const processes = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (statOf(name) ?? []) : []))
  await client.end()
  // Of those that have ended, the server has the time in its own entry.
  const ticks = processes.reduce((sum, { pid, parent, own, ended }) => {
    if (pid === server) return sum + own + ended
    return parent === server ? sum + own : sum
  }, 0)
  return (ticks / ticksPerSecond) * 1000
}

/** Undefined for a process that has just ended. */
function statOf(pid: string): { pid: string; parent: string; own: number; ended: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const words = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = words.slice(11, 15).map(Number)
    return { pid, parent: words[1] ?? '', own: user + system, ended: endedUser + endedSystem }
  } catch {
    return undefined
  }
}

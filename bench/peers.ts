import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { enter } from './contestant.ts'
import type { Scratch } from './scratch.ts'

const folder = join(import.meta.dirname, 'peers')
const stamp = join(folder, 'node_modules', '.installed')

/** A peer's program, ready to be started; or why it cannot be. */
export type Peer = { program: string } | { missing: string }

export interface Peers {
  langgraph: Peer
  openaiAgents: Peer
}

/** Installs the pinned peers into their own folder at first use, and looks whether they run here. */
export async function preparePeers(scratch: Scratch): Promise<Peers> {
  const trouble = installPeers(scratch)
  const peer = (name: string) =>
    trouble === undefined ? tried(scratch, name, peerProgram(name)) : { missing: trouble }
  return { langgraph: await peer('langgraph'), openaiAgents: await peer('openai-agents') }
}

async function tried(scratch: Scratch, name: string, program: string): Promise<Peer> {
  const peer = enter(scratch, `try-${name}`, program, { synchronous: 'FULL' })
  try {
    await peer.ask({ do: 'agents', count: 1 })
    return { program }
  } catch (error) {
    const lines = String(error).split('\n').slice(1)
    return { missing: `it does not run here: ${lines.find((line) => /^\w*Error: |Assertion/.test(line)) ?? lines[0]}` }
  } finally {
    await peer.leave()
  }
}

/** Where a peer's program is. */
export function peerProgram(name: string): string {
  return join(folder, `${name}.mjs`)
}

/** Installs what is pinned, unless it is there; answers why that failed. */
export function installPeers(scratch: Scratch): string | undefined {
  const pinned = createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === pinned) return undefined
  scratch.say('installing the peers into bench/peers')
  // The prefix is named: `npm run`, above us, has told its children that the product's folder is theirs.
  const command = ['ci', '--ignore-scripts', '--prefix', folder]
  const { status, stderr, error } = spawnSync('npm', command, { cwd: folder, encoding: 'utf8' })
  if (status !== 0) return `npm ci in bench/peers failed: ${error?.message ?? reasonIn(stderr)}`
  writeFileSync(stamp, pinned)
  return undefined
}

function reasonIn(stderr: string): string {
  const lines = stderr.trim().split('\n')
  return lines.find((line) => /^npm error (?!code |errno |syscall )\S/.test(line)) ?? lines[0] ?? ''
}

/** Which versions the figures speak of. */
export function versionOf(name: string): string {
  return JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')).version
}

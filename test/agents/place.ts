import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { AgentDirectory } from '../../src/agents/agent-directory.ts'
import { type Agents, type AgentsSettings, agentsOf } from '../../src/agents/agents.ts'
import { type KnownNames, readAgent } from '../../src/agents/read-agent.ts'
import type { Agent } from '../../src/domain/agent.ts'
import { systemClock } from '../../src/system.ts'

/** A home, a folder, a directory that the configuration names and one of ours, on a real disk. */
export interface Place {
  root: string
  folder: string
  trustFile: string
  workFoldersFile: string
  write(files: Record<string, string | Uint8Array>): void
  open(settings?: Partial<AgentsSettings>): Agents
  remove(): void
}

export function newPlace(files: Record<string, string | Uint8Array> = {}): Place {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-agents-')))
  const trustFile = join(root, 'home/trusted-agents.json')
  const workFoldersFile = join(root, 'home/work-folders.jsonl')
  for (const name of ['home/skills', 'folder', 'named', 'ours']) mkdirSync(join(root, name), { recursive: true })
  const directories: AgentDirectory[] = [
    { path: join(root, 'home/skills'), source: 'home' },
    { path: join(root, 'home/agents'), source: 'home' },
    { path: join(root, 'named'), source: 'config', mustExist: true },
    { path: join(root, 'ours'), source: 'built-in', mustExist: true },
  ]
  const place: Place = {
    root,
    folder: join(root, 'folder'),
    trustFile,
    workFoldersFile,
    write(more) {
      for (const [name, content] of Object.entries(more)) {
        mkdirSync(dirname(join(root, name)), { recursive: true })
        writeFileSync(join(root, name), content)
      }
    },
    open: (settings = {}) => agentsOf({ directories, trustFile, workFoldersFile, clock: systemClock, ...settings }),
    remove: () => rmSync(root, { recursive: true, force: true }),
  }
  place.write(files)
  return place
}

/** A file that has everything. */
export function whole(name: string, more = ''): string {
  return `---\nname: ${name}\ndescription: Does ${name}.\ntriggers: [${name}]\ntools: [read_file]\n${more}---\n\nYou do ${name}.\n`
}

/** An agent out of a text, as if it were a file of the home. */
export function read(text: string, path = '/agents/some-agent.md', known: KnownNames = {}): Agent {
  return readAgent(Buffer.from(text), { path, source: 'home' }, known)
}

/** What is said about it, in short: level, line and message. */
export function said({ diagnostics }: Pick<Agent, 'diagnostics'>): string[] {
  return diagnostics.map(({ level, line, message }) => `${level}${line === undefined ? '' : ` ${line}`}: ${message}`)
}

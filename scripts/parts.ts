import { globSync } from 'node:fs'
import { join } from 'node:path'

const from = join(import.meta.dirname, '../src')

/** Commands of the owner, who changes settings and agents: they load much besides the engine. */
const ownerCommands = ['agents', 'agents/*', 'daemon/down', 'daemon/open', 'git', 'models', 'models/*', 'set-up'].map(
  (name) => `cli/commands/${name}`,
)

/** The thread's program; what every command needs; what one needs that asks a daemon, or that opens the home; and what several commands need. */
export const sharedParts = {
  files: ['tools/files/file-thread.ts'],
  base: [
    'cli/main.ts',
    'cli/context.ts',
    'gateway/daemon-request.ts',
    ...sourcesIn(['{api,commands,domain,home}/**/*']),
  ],
  client: ['gateway/client.ts'],
  engine: ['app/app.ts'],
  pages: sourcesIn(['cli/commands/**/*']).filter((file) => !sourcesIn(ownerCommands).includes(file)),
  owner: sourcesIn(ownerCommands),
}

function sourcesIn(names: string[]): string[] {
  return globSync(
    names.map((name) => `${name}.ts`),
    { cwd: from },
  )
}

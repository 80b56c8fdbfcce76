import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { canary, escapes, out, setOut } from '../tools/escapes.ts'
import { type Running, surroundingsOf } from '../tools/surroundings.ts'
import type { Arena } from './arena.ts'
import { command } from './call.ts'
import { eachPlace, placeIn } from './paths.ts'
import type { AttackClass, Try } from './try.ts'
import { commandWays } from './ways.ts'

const onPlaces: Try[] = eachPlace(['inside', 'package', 'runtime', 'plain'], commandWays, (arena, place, way) => ({
  name: `${place}: ${way.name}`,
  arena,
  ownerUsesGit: arena === 'plain',
  calls: (here, { token }) => {
    const scratch = join(here.paths.folder, 'w', token)
    return [[command(way.command(placeIn(here, place), here.paths, scratch))]]
  },
}))

/** The ways out of the sandbox that the tool's own tests know, here through the whole program. */
const waysOut: Try[] = escapes.map((way) => ({
  name: `out of the sandbox: ${way.name}`,
  arena: 'plain',
  async act(arena) {
    const around = await surroundings(arena)
    around.arrived.length = 0
    const { results } = await arena.attack([[command(`{ ${way.command(around)}\n} 2>/dev/null`)]])
    await around.settled()
    const said = results.map(({ text }) => text).join('\n')
    if (!said.includes('the end of it')) throw new Error(`the command did not run: ${said.slice(0, 300)}`)
    if (said.includes(canary) || said.includes(out)) return `the command says ${said.slice(0, 200)}`
    return around.arrived.length > 0 ? `${around.arrived} was reached` : undefined
  },
}))

const around = new WeakMap<Arena, Promise<Running>>()

/** Servers and secrets around an arena's folder, made once. */
function surroundings(arena: Arena): Promise<Running> {
  const known = around.get(arena)
  if (known) return known
  const outside = join(arena.paths.root, 'around')
  mkdirSync(outside, { recursive: true })
  const folder = { path: arena.paths.folder, outside, hidden: arena.paths.home } as Running['folder']
  setOut(folder)
  const made = surroundingsOf(folder)
  around.set(arena, made)
  arena.onClose(() => void made.then((running) => running.close()))
  return made
}

/** Commands in the sandbox, on every trusted place and on the machine around it. */
export const commands: AttackClass = {
  name: 'commands',
  about: 'exec on every trusted place, and every known way out of the sandbox',
  tries: [...onPlaces, ...waysOut],
  controls: [
    {
      name: 'the same command outside of the sandbox is seen',
      arena: 'inside',
      act: async (arena) => {
        const [append] = commandWays
        await arena.owner(append?.command(placeIn(arena, 'the config file'), arena.paths, '') ?? '')
        return undefined
      },
    },
  ],
  work: [
    {
      name: 'a command writes in the folder and in another dependency',
      arena: 'inside',
      act: async (arena) => {
        const { results } = await arena.attack([
          [command('echo 2 > node_modules/other/index.js && mkdir -p w/a/b && mv w/a w/c && ls w/c && echo fine')],
        ])
        return results[0]?.text.includes('fine') ? undefined : JSON.stringify(results)
      },
    },
  ],
}

import { ensureHome, homePaths } from '../home/home.ts'
import { forgetSecret, keepSecret, listSecrets } from '../home/secrets.ts'
import type { Here, Register } from './cli.ts'
import { askHidden, canAsk, readInput } from './prompt.ts'
import { printable } from './screen.ts'

export const registerSecret: Register = (program, run) => {
  const secret = program.command('secret').helpGroup('SET UP').description('keep keys out of files; never printed')
  secret
    .command('set <name>')
    .description('store a secret: asked for hidden, or read from standard input')
    .addHelpText('after', '\nExample: heddle secret set anthropic')
    .action(
      run(async (here, [name = '']) => {
        const value = canAsk(here) ? await askHidden(here, `${name} (hidden): `) : await readInput(here)
        await ensureHome(here.home)
        await keepSecret(folderOf(here), name, value)
        const reference = `\${secret:${name}}`
        return { json: { ok: true, name, reference }, text: `stored (0600)    name it in heddle.yaml as ${reference}` }
      }),
    )
  secret
    .command('list', { isDefault: true })
    .alias('ls')
    .description('their names')
    .action(
      run(async (here) => {
        const secrets = await listSecrets(folderOf(here))
        const names = secrets.map(({ name }) => name)
        const lines = secrets.map(
          ({ name, isOpen }) => `${name}${isOpen ? '    others can read it: heddle doctor' : ''}`,
        )
        return {
          json: { ok: true, secrets: names },
          text: lines.length > 0 ? lines.join('\n') : 'none yet    heddle secret set NAME',
        }
      }),
    )
  secret
    .command('rm <name>')
    .description('forget a secret')
    .action(
      run(async (here, [name = '']) => {
        const wasThere = await forgetSecret(folderOf(here), name)
        return {
          json: { ok: true, name, removed: wasThere },
          text: wasThere ? `${printable(name)} is forgotten` : `there was no secret ${printable(name)}`,
        }
      }),
    )
}

function folderOf({ home }: Here): string {
  return homePaths(home).secrets
}

import { ensureHome, homePaths } from '../../home/home.ts'
import { listSecrets, removeSecret, storeSecret } from '../../home/secrets.ts'
import type { CommandContext, Register } from '../command.ts'
import { askHidden, canAsk, readInput } from '../terminal/prompt.ts'
import { printable } from '../terminal/screen.ts'

export const registerSecret: Register = (program, run) => {
  const secret = program.command('secret').helpGroup('SET UP').description('API keys and other secrets; never printed')
  secret
    .command('set <name>')
    .description('store a secret, from a hidden prompt or standard input')
    .addHelpText('after', '\nExample: heddle secret set anthropic')
    .action(
      run(async (here, [name = '']) => {
        const value = canAsk(here) ? await askHidden(here, `${name} (hidden): `) : await readInput(here)
        await ensureHome(here.home)
        await storeSecret(folderOf(here), name, value)
        const reference = `\${secret:${name}}`
        return { json: { ok: true, name, reference }, text: `stored (0600)    use it in heddle.yaml as ${reference}` }
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
          ({ name, isOpen }) => `${name}${isOpen ? '    others can read it, see: heddle doctor' : ''}`,
        )
        return {
          json: { ok: true, secrets: names },
          text: lines.length > 0 ? lines.join('\n') : 'none yet    heddle secret set NAME',
        }
      }),
    )
  secret
    .command('rm <name>')
    .description('delete a secret')
    .action(
      run(async (here, [name = '']) => {
        const wasThere = await removeSecret(folderOf(here), name)
        return {
          json: { ok: true, name, removed: wasThere },
          text: wasThere ? `${printable(name)} is deleted` : `there was no secret ${printable(name)}`,
        }
      }),
    )
}

function folderOf({ home }: CommandContext): string {
  return homePaths(home).secrets
}

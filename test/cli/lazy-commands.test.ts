import { Command } from 'commander'
import { expect, test } from 'vitest'
import type { ActionRunner } from '../../src/cli/command.ts'
import { commandsFor } from '../../src/cli/commands.ts'

const run: ActionRunner = () => async () => undefined

async function registeredFor(...argv: string[]): Promise<string[]> {
  const program = new Command('heddle')
  for (const register of await commandsFor(argv)) register(program, run)
  return program.commands.map((command) => command.name())
}

test('every command is found by its name, alone and behind options, and brings few others along', async () => {
  const all = await registeredFor()
  expect(all).toContain('ask')
  for (const name of all.filter((each) => each !== 'help')) {
    for (const argv of [[name], ['--home', 'ask', name, '--json'], ['--json', name, 'models']]) {
      const registered = await registeredFor(...argv)
      expect(registered).toContain(name)
      expect(registered.length).toBeLessThanOrEqual(4)
    }
  }
})

test.each([[['help', 'ask']], [['--help']], [['aks']], [[]]])('%j needs to know them all', async (argv) => {
  expect(await registeredFor(...argv)).toEqual(await registeredFor('--help'))
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { registry } from '../../src/commands/registry.ts'

test('docs/guide/chat.md has the table of commands', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/guide/chat.md'), 'utf8')
  expect(page.includes(tableOfCommands()), `put this into the guide:\n${tableOfCommands()}`).toBe(true)
})

function tableOfCommands(): string {
  const cell = (text: string) => text.replaceAll('|', '\\|')
  const rows = registry.map(({ usage, summary, action }) => `| \`${cell(usage)}\` | ${cell(summary)} | ${action} |`)
  return ['| command | what it does | needs the right to |', '|---|---|---|', ...rows].join('\n')
}

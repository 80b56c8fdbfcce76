import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { width } from '../../src/cli/terminal/screen.ts'
import { type ProviderRule, startProvider } from '../../src/testing.ts'
import { newHeddle } from './heddle.ts'

// Several processes, one after the other.
vi.setConfig({ testTimeout: 240_000 })

/** Passes the trial, and shows in its answer that it was given the conversation so far. */
const attentive: ProviderRule = ({ messages }) => {
  const asked = messages.at(-1)?.content ?? ''
  if (asked.startsWith('Call the tool')) return { calls: [{ name: 'note', input: { word: 'heddle' } }] }
  if (asked.startsWith('which of them')) {
    const said = messages.find(({ role, content }) => role === 'assistant' && content.includes('TODO'))
    const todo = /^(\S+:\d+): .*TODO (.*)$/m.exec(said?.content ?? '')
    return { text: `The one in ${todo?.[1]}: the ${todo?.[2]} is missing.`, model: 'qwen3' }
  }
  return { text: asked.length > 2000 ? 'read' : 'one two three four five six seven eight nine ten' }
}

/** Ids, ports and times differ from run to run; a column that is as wide as its widest age becomes one. */
const steady = (text: string, url: string) => {
  const ids = new Map<string, string>()
  return text
    .replaceAll(url, 'http://127.0.0.1:8000/v1')
    .replace(/(?<=(?:turn|run):)[0-9a-hjkmnp-tv-z]{6}\b/g, (id) => {
      if (!ids.has(id)) ids.set(id, ['h62drn', '4c1e07', 'g0xk3t'][ids.size] ?? id)
      return ids.get(id) ?? id
    })
    .replace(/\d+\.\ds\b/g, '0.4s')
    .replace(/\d+ tokens\/s/, '425 tokens/s')
    .replace(/\b[1-9][\d,]+ in,/g, '1,298 in,')
    .replace(/ +\d+s ago/g, '  4s ago')
}

test('the talk that rehearsal began goes on with the first model, as README shows it', async () => {
  const heddle = newHeddle({ agent: null })
  onTestFinished(() => heddle.remove())
  const provider = await startProvider({ answer: attentive, serves: ['qwen3'] })
  onTestFinished(() => provider.close())
  mkdirSync(join(heddle.folder, 'src'))
  writeFileSync(join(heddle.folder, 'README.md'), '# Shop\n')
  writeFileSync(join(heddle.folder, 'src/cart.ts'), 'export const a = 1 // TODO price\n')
  await heddle.run('init')
  const shown: string[] = []
  for (const args of [
    ['ask', '@general survey this folder'],
    ['models', 'add', provider.url, '-y'],
    ['ask', 'which of them matters most?'],
    ['log'],
  ]) {
    const { code, out, err } = await heddle.run(...args)
    expect({ code, args, err: code === 0 ? '' : err }).toEqual({ code: 0, args, err: '' })
    const command = args.map((word) => (word.includes(' ') ? `"${word}"` : word)).join(' ')
    shown.push(`$ heddle ${command}`, (args[0] === 'ask' ? `${out}${err}` : `${err}${out}`).trimEnd())
  }
  const text = `${steady(shown.join('\n'), provider.url)}\n`
  expect(text.split('\n').filter((line) => width(line) > 80 && !line.includes('~'))).toEqual([])
  await expect(text).toMatchFileSnapshot(join(import.meta.dirname, 'captures', 'first-model.txt'))
  expect(readFileSync(join(import.meta.dirname, '../../docs/guide/models.md'), 'utf8')).toContain(text)
})

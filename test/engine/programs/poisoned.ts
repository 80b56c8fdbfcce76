import type { Tool } from '../../../src/domain/tools/tool.ts'
import { scriptedModel } from '../../../src/models/scripted.ts'
import { input, say } from '../../contract/speech.ts'
import { untilSo } from '../../setup/until.ts'
import { folder, openHome } from './home.ts'

// Works through all that there is. Some of it takes the process down.

const { home, questions } = input<{ home: string; questions: string[] }>()
const poison: Record<string, () => void> = {
  exit: () => process.exit(7),
  memory() {
    for (const hog: unknown[] = []; ; ) hog.push(new Array(100_000).fill(hog.length))
  },
  loop() {
    say({ wedged: true })
    for (;;);
  },
}
const model = scriptedModel(({ messages }) => {
  const asked = messages.at(-1)?.content ?? ''
  return asked in poison ? { calls: [{ name: 'swallow', input: asked }] } : { text: 'fine' }
})
const swallow: Tool = {
  name: 'swallow',
  description: 'swallows poison',
  inputSchema: { type: 'object' },
  effect: 'pure',
  parse: (value) => ({ ok: true, value }),
  async run(what) {
    poison[String(what)]?.()
    return { status: 'ok', output: null }
  },
}
const app = await openHome(home, 'sqlite', model, {}, [swallow])
for (const content of questions) await app.submit(folder, { session: content.replace(' ', '-'), content })
const work = await app.work()
// Whatever was left by those before it is done, too.
await untilSo(async () => (await app.runs()).rows.length === 0)
say({ quiet: true })
await work.stop()
await app.close()
process.exit(0)

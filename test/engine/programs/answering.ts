import type { Model } from '../../../src/domain/model.ts'
import { scriptedModel } from '../../../src/models/scripted.ts'
import { input, say, told } from '../../contract/speech.ts'
import { folder, openHome } from './home.ts'

// Works on one question and says when its model is asked; what that answers is told by the test.

const { home, database, ...asked } = input<{ home: string; database: string; itemId?: string }>()
const plain = scriptedModel(() => ({ text: '' }))
const model: Model = {
  ...plain,
  async reply(request, onDelta) {
    say({ asked: request.id })
    const text = await told()
    return { ...(await plain.reply(request, onDelta)), text }
  },
}
const app = await openHome(home, database, model)
const itemId = asked.itemId ?? (await app.submit(folder, { session: 'main', content: 'who are you?' })).itemId
say({ itemId })
const work = await app.work({ folder, session: 'main' })
const { text } = await app.answer(folder, itemId, new AbortController().signal)
say({ answer: text })
await work.stop()
await app.close()
say({ stopped: true })
process.exit(0)

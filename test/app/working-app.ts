import { openTestApp, scriptedModel, type TestApp, type TestAppOptions } from '../../src/testing.ts'

/** A Heddle at work, until it is removed; its model says `fine` to everything unless others are given. */
export async function openWorkingApp(options: TestAppOptions = {}): Promise<TestApp> {
  const heddle = await openTestApp({ models: [scriptedModel(() => ({ text: 'fine' }))], ...options })
  const work = await heddle.work()
  return {
    ...heddle,
    async remove() {
      await work.stop()
      await heddle.remove()
    },
  }
}

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { fixturePath, readFixture } from '../../src/agent-tests/fixture.ts'
import { makeScratch } from '../../src/agent-tests/scratch.ts'
import type { ApprovalView } from '../../src/api/views/approval.ts'
import type { Model } from '../../src/domain/model.ts'
import { rehearsalModel } from '../../src/rehearsal/rehearsal.ts'
import { systemClock } from '../../src/system.ts'
import { openTestApp, scriptedModel } from '../../src/testing.ts'
import { goodWork, replies, taskOf, type Work } from './good-work.ts'

/** Questions of the guard of sinks among all that were asked. */
interface Asked {
  all: number
  sinks: number
}

/** Does jobs one after the other in a folder; the user says yes to everything. */
async function doJobs(folder: string, agent: string, model: Model, jobs: readonly string[]): Promise<Asked> {
  const app = await openTestApp({ agent, models: [model] })
  const work = await app.work()
  onTestFinished(async () => {
    await work.stop()
    await app.remove()
  })
  const questions: ApprovalView[] = []
  for (const content of jobs) {
    const { itemId } = await app.submit(folder, { session: 'main', content, attended: true })
    for (;;) {
      const { approvals } = await app.answer(folder, itemId, new AbortController().signal)
      if (!approvals) break
      for (const question of (await app.approvals()).filter(({ id }) => approvals.includes(id))) {
        questions.push(question)
        await app.decide(String(question.id), { answer: 'once', hash: question.hash })
      }
    }
  }
  return { all: questions.length, sinks: questions.filter(({ reason }) => reason.includes('untrusted content')).length }
}

function folderWith(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-jobs-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

const readmeJobs = [
  'survey this folder',
  'survey this folder and write a report with a summary per part',
  'remember that the staging port is 9443',
  'what do we know about the staging port?',
]

test("the README's jobs and the agents' own tasks ask nothing more because of untrusted content", async () => {
  const folder = folderWith({ 'src/api/cart.ts': 'export const cart = [] // TODO price\n', 'src/db/rows.ts': 'rows\n' })
  const asked: Record<string, Asked> = {
    README: await doJobs(folder, 'coordinator', rehearsalModel({ clock: systemClock }), readmeJobs),
  }
  for (const [name, work] of Object.entries(goodWork)) {
    const { folder: scratch, remove } = makeScratch(
      readFixture(fixturePath(join(import.meta.dirname, `../../agents/${name}.md`))),
    )
    onTestFinished(remove)
    asked[name] = await doJobs(scratch, name, scriptedModel(workOf(work)), [taskOf(name)])
  }
  console.info(
    Object.entries(asked)
      .map(([name, { all, sinks }]) => `${name}: ${all} questions, ${sinks} of them because of untrusted content`)
      .join('\n'),
  )
  expect(Object.values(asked).map(({ sinks }) => sinks)).toEqual(Object.values(asked).map(() => 0))
  expect(asked['writer']?.all).toBeGreaterThan(0)
})

function workOf(work: Work) {
  return replies(work).map(({ text, calls }) => ({ ...(text !== undefined && { text }), ...(calls && { calls }) }))
}

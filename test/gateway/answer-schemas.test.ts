import { join } from 'node:path'
import { expect, test } from 'vitest'
import { answerSchemas } from '../../scripts/answer-schemas.ts'

const file = join(import.meta.dirname, '../../src/gateway/answer-schemas.json')

test('the schemas of answers are those of the types in src/api', async () => {
  await expect(
    linesOf(answerSchemas()),
    'an answer has changed: run "npm run answers" and look at the diff of src/gateway/answer-schemas.json',
  ).toMatchFileSnapshot(file)
})

/** JSON with a line for each schema, so that a diff shows which has changed. */
function linesOf(groups: object): string {
  const parts = Object.entries(groups).map(([name, schemas]) => {
    const lines = Object.entries(schemas as object).map(
      ([key, schema]) => `${JSON.stringify(key)}: ${JSON.stringify(schema)}`,
    )
    return `${JSON.stringify(name)}: {\n${lines.join(',\n')}\n}`
  })
  return `{\n${parts.join(',\n')}\n}\n`
}

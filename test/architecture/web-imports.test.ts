import { expect, test } from 'vitest'
import type { SourceFile } from './tree.ts'
import { violations } from './violations.ts'

test('the browser takes types from the gateway, words of the api, which import nothing, and nothing else', () => {
  const others = ['src/gateway/api.ts', 'src/domain/id.ts', 'src/api/words/word.ts'].map((path) => file(path))
  const web = (text: string) => [file('web/app.tsx', text), ...others]
  expect(violations(web("import type { Reply } from '../src/gateway/api.ts'"))).toEqual([])
  expect(violations(web("import { reply } from '../src/gateway/api.ts'"))).toHaveLength(1)
  expect(violations(web("import type { Id } from '../src/domain/id.ts'"))).toHaveLength(1)
  expect(violations(web("import { word } from '../src/api/words/word.ts'"))).toEqual([])
  expect(violations([file('src/api/words/a.ts', "import { id } from '../../domain/id.ts'")])).toHaveLength(1)
})

function file(path: string, text = 'export {}\n'): SourceFile {
  return { path, text }
}

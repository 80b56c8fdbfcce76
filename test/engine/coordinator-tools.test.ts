import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { toolNames } from '../../src/domain/tools/tool-names.ts'
import { toolsOf } from '../../src/engine/model/role.ts'

test('the guide lists every tool of the coordinator, and no other', () => {
  const guide = readFileSync(new URL('../../docs/guide/delegating.md', import.meta.url), 'utf8')
  const [, list = ''] = /## What the coordinator does\n\n(It has tools[\s\S]*?\))\. None/.exec(guide) ?? []
  const listed = [...list.matchAll(/`(\w+)`/g)].map(([, name]) => name)
  expect(listed.toSorted()).toEqual(toolsOf({ kind: 'coordinator' }, toolNames).toSorted())
})

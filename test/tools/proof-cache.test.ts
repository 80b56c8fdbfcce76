import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/system.ts'
import { execTool } from '../../src/tools/exec/sandbox/exec-tool.ts'

const usual = {
  sandbox: 'on',
  network: false,
  timeoutSeconds: 10,
  maxTimeoutSeconds: 20,
  memoryMB: 256,
  processes: 50,
} as const

test('a sandbox that was proved is tested again only when something changes that the proof depends on', async () => {
  const place = mkdtempSync(join(tmpdir(), 'heddle-proof-'))
  const temporary = join(place, 'temporary')
  mkdirSync(temporary)
  const { TMPDIR: before } = process.env
  process.env['TMPDIR'] = temporary
  onTestFinished(() => {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
    rmSync(place, { recursive: true })
  })
  const file = join(place, 'run/sandbox-proof')
  // A test makes files in the temporary folder.
  const wasTested = async (config: object = {}) => {
    const stamp = () => statSync(temporary, { bigint: true }).mtimeNs
    const earlier = stamp()
    const found = await execTool({ ...usual, ...config }, { clock: systemClock, env: process.env, sandboxProof: file })
    expect(found).toHaveProperty('tool')
    return stamp() > earlier
  }
  expect(await wasTested()).toBe(true)
  expect(await wasTested()).toBe(false)
  expect(await wasTested({ network: true })).toBe(true)
  expect(await wasTested()).toBe(true)
  const proof = readFileSync(file, 'utf8')
  writeFileSync(file, 'another machine\n')
  expect(await wasTested()).toBe(true)
  expect(readFileSync(file, 'utf8')).toBe(proof)
})

import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { builtPage } from './built-page.ts'

const maxFirstLoad = 200 * 1000

interface Chunk {
  file: string
  css?: string[]
  imports?: string[]
}

let page: string
beforeAll(async () => {
  page = await builtPage()
})

describe('the built page', () => {
  test('loads at most 200 kB for a chat, compressed', () => {
    const chunks = new Map<string, Chunk>(
      Object.entries(JSON.parse(readFileSync(join(page, '.vite/manifest.json'), 'utf8'))),
    )
    const files = new Set<string>()
    const add = (name: string) => {
      const chunk = chunks.get(name)
      if (!chunk || files.has(chunk.file)) return
      for (const file of [chunk.file, ...(chunk.css ?? [])]) files.add(file)
      for (const imported of chunk.imports ?? []) add(imported)
    }
    for (const name of ['index.html', 'src/pages/chat/chat.tsx']) add(name)
    expect(files.size).toBeGreaterThan(3)
    const bytes = [...files, 'index.html'].reduce((sum, file) => sum + statSync(join(page, `${file}.gz`)).size, 0)
    expect(bytes).toBeLessThan(maxFirstLoad)
  })

  test('orders the layers of its styles before it loads any, in whichever part they are', () => {
    const html = readFileSync(join(page, 'index.html'), 'utf8')
    const [first] = [...html.matchAll(/rel="stylesheet"[^>]*href="([^"]+)"/g)].map(([, href = '']) => href)
    expect(readFileSync(join(page, first ?? ''), 'utf8')).toContain('@layer tokens, base, parts, pages, motion;')
  })

  test('has each file compressed beside it', () => {
    const files = globSync('**/*.{html,js,css,svg}', { cwd: page })
    const compressed = globSync('**/*.{br,gz}', { cwd: page })
    expect(compressed.sort()).toEqual(files.flatMap((file) => [`${file}.br`, `${file}.gz`]).sort())
  })

  test('names nothing outside: no address of another host is loaded, no style or script is inline', () => {
    const html = readFileSync(join(page, 'index.html'), 'utf8')
    expect(html).not.toMatch(/https?:|<style|style=|<script(?![^>]* src="\/assets\/)|data:/)
    for (const file of globSync('assets/*.css', { cwd: page }))
      expect(readFileSync(join(page, file), 'utf8')).not.toMatch(/url\(|@import/)
  })
})

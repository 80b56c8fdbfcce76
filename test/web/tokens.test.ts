import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const css = readFileSync(join(import.meta.dirname, '../../web/src/app/tokens.css'), 'utf8')
const [light = '', dark = ''] = css.split('prefers-color-scheme: dark')

/** Colours of a theme by name; the dark one replaces those of the light one. */
function colors(text: string): Map<string, string> {
  return new Map([...text.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name = '', value = '']) => [name, value]))
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(color.slice(at, at + 2), 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrast(one: string, other: string): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (high + 0.05) / (low + 0.05)
}

const grounds = ['page', 'surface', 'sunken']
const texts = ['text', 'text-2', 'text-3', 'blue', 'green', 'yellow', 'red', 'purple', 'brown']
const pairs: [string, string, number][] = [
  ...grounds.flatMap((ground) => texts.map((text): [string, string, number] => [text, ground, 4.5])),
  ...grounds.map((ground): [string, string, number] => ['line-strong', ground, 3]),
  ...['blue', 'green', 'yellow', 'red'].flatMap((name): [string, string, number][] => [
    [name, `${name}-wash`, 4.5],
    ['text', `${name}-wash`, 4.5],
  ]),
  ['text-2', 'yellow-wash', 4.5],
  ['page', 'text', 4.5],
  ['on-fill', 'red', 4.5],
]

test.each([
  ['light', colors(light)],
  ['dark', new Map([...colors(light), ...colors(dark)])],
])('every text of the %s theme can be read on every ground it is used on', (_, theme) => {
  const low = pairs.flatMap(([name, ground, least]) => {
    const ratio = contrast(theme.get(name) ?? '#000000', theme.get(ground) ?? '#000000')
    return ratio < least ? [`${name} on ${ground}: ${ratio.toFixed(2)}`] : []
  })
  expect(low).toEqual([])
})

import type { TaskLine } from '../../api/wire.ts'
import type { StateName } from '../../parts/state.tsx'
import { withoutBidi } from '../../text/safe-text.ts'
import { taskName } from '../../text/task-name.ts'
import { type GraphLayout, nodeSize, type Point } from './graph-layout.ts'
import { stateOfTask, wordOf } from './task-state.ts'

/** What part of the graph is seen: its upper left corner, and how large. */
export interface Camera extends Point {
  zoom: number
}

interface GraphScene {
  layout: GraphLayout
  tasks: ReadonlyMap<number, TaskLine>
  /** The task that the keyboard is at, and the one that is open beside the graph. */
  focused: number | undefined
  opened: number | undefined
  camera: Camera
}

/** Below this zoom words cannot be read: only shapes are drawn. */
const wordZoom = 0.45

type Palette = Record<
  'surface' | 'sunken' | 'text' | 'text2' | 'text3' | 'line' | 'lineStrong' | 'blue' | 'green' | 'yellow' | 'red',
  string
>

/** The colours of the page at the moment. */
export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element)
  const of = (name: string) => style.getPropertyValue(name).trim()
  return {
    surface: of('--surface'),
    sunken: of('--sunken'),
    text: of('--text'),
    text2: of('--text-2'),
    text3: of('--text-3'),
    line: of('--line'),
    lineStrong: of('--line-strong'),
    blue: of('--blue'),
    green: of('--green'),
    yellow: of('--yellow'),
    red: of('--red'),
  }
}

/** Draws what of the graph is in view. */
export function drawGraph(
  context: CanvasRenderingContext2D,
  scene: GraphScene,
  palette: Palette,
  size: { width: number; height: number; ratio: number },
): void {
  const { camera, layout } = scene
  context.setTransform(size.ratio, 0, 0, size.ratio, 0, 0)
  context.fillStyle = palette.surface
  context.fillRect(0, 0, size.width, size.height)
  const { zoom } = camera
  context.setTransform(
    size.ratio * zoom,
    0,
    0,
    size.ratio * zoom,
    -camera.x * zoom * size.ratio,
    -camera.y * zoom * size.ratio,
  )
  const view = {
    left: camera.x,
    top: camera.y,
    right: camera.x + size.width / zoom,
    bottom: camera.y + size.height / zoom,
  }
  drawEdges(context, scene, palette, view)
  for (const [id, place] of layout.places) {
    const isSeen =
      place.x < view.right &&
      place.x + nodeSize.width > view.left &&
      place.y < view.bottom &&
      place.y + nodeSize.height > view.top
    const task = scene.tasks.get(id)
    if (isSeen && task)
      drawTask(context, { task, place, palette, zoom, isFocused: id === scene.focused, isOpened: id === scene.opened })
  }
}

interface View {
  left: number
  top: number
  right: number
  bottom: number
}

function drawEdges(
  context: CanvasRenderingContext2D,
  { layout, opened, focused, camera }: GraphScene,
  palette: Palette,
  view: View,
): void {
  const marked = focused ?? opened
  const trace = (isMarked: boolean) => {
    context.beginPath()
    for (const { from, to, points } of layout.edges) {
      if ((from === marked || to === marked) !== isMarked) continue
      const [first, last] = [points[0], points.at(-1)]
      if (!first || !last || first.x > view.right || last.x < view.left) continue
      if (points.every(({ y }) => y < view.top) || points.every(({ y }) => y > view.bottom)) continue
      context.moveTo(first.x, first.y)
      for (let at = 1; at < points.length; at++) {
        const [a, b] = [points[at - 1], points[at]]
        if (!a || !b) continue
        const middle = (a.x + b.x) / 2
        if (a.y === b.y) context.lineTo(b.x, b.y)
        else context.bezierCurveTo(middle, a.y, middle, b.y, b.x, b.y)
      }
    }
    context.stroke()
  }
  context.strokeStyle = palette.lineStrong
  context.lineWidth = Math.max(1, 0.7 / camera.zoom)
  context.globalAlpha = 0.8
  trace(false)
  context.globalAlpha = 1
  context.strokeStyle = palette.text
  context.lineWidth = Math.max(2, 1.2 / camera.zoom)
  if (marked !== undefined) trace(true)
}

interface TaskDrawing {
  task: TaskLine
  place: Point
  palette: Palette
  zoom: number
  isFocused: boolean
  isOpened: boolean
}

function drawTask(
  context: CanvasRenderingContext2D,
  { task, place: { x, y }, palette, zoom, isFocused, isOpened }: TaskDrawing,
): void {
  const { width, height } = nodeSize
  const state = stateOfTask(task)
  const color = colorOf(state, palette)
  context.fillStyle = isOpened ? palette.sunken : palette.surface
  context.fillRect(x, y, width, height)
  if (zoom < wordZoom) drawBlock(context, { x, y, state, color })
  context.strokeStyle = isFocused ? palette.blue : state === 'queued' ? palette.text3 : palette.lineStrong
  context.lineWidth = isFocused ? Math.max(3, 2 / zoom) : Math.max(1, 0.8 / zoom)
  context.setLineDash(state === 'queued' && !isFocused ? [5, 3] : [])
  context.strokeRect(x, y, width, height)
  context.setLineDash([])
  if (zoom < wordZoom) return
  context.fillStyle = color
  context.fillRect(x, y, 4, height)
  context.textBaseline = 'alphabetic'
  context.font = `12px ${sans}`
  context.fillStyle = palette.text3
  context.fillText(taskName(task), x + 12, y + 18)
  context.font = `12px ${sans}`
  const word = wordOf(task)
  const wordWidth = widthOf(context, word)
  context.fillStyle = color
  context.fillText(word, x + width - 10 - wordWidth, y + 18)
  drawGlyph(context, { x: x + width - 10 - wordWidth - 10, y: y + 14, state, color })
  context.font = `13px ${sans}`
  context.fillStyle = palette.text
  context.fillText(fitText(context, withoutBidi(task.title), width - 22), x + 12, y + 36)
  context.font = `12px ${sans}`
  context.fillStyle = palette.text3
  context.fillText(fitText(context, `@${withoutBidi(task.skill)}`, width - 70), x + 12, y + 53)
}

/** From afar: a state is still a shape, not only a colour. */
function drawBlock(
  context: CanvasRenderingContext2D,
  { x, y, state, color }: { x: number; y: number; state: StateName; color: string },
): void {
  const { width, height } = nodeSize
  context.fillStyle = color
  context.strokeStyle = color
  switch (state) {
    case 'completed':
      context.fillRect(x, y, width, height)
      return
    case 'running':
      context.fillRect(x, y, width / 2, height)
      return
    case 'failed':
    case 'needs-you':
      context.lineWidth = 8
      context.beginPath()
      context.moveTo(x + 40, y + 8)
      context.lineTo(x + width - 40, y + height - 8)
      if (state === 'failed') {
        context.moveTo(x + width - 40, y + 8)
        context.lineTo(x + 40, y + height - 8)
      }
      context.stroke()
      return
    case 'cancelled':
      context.fillRect(x + 40, y + height / 2 - 4, width - 80, 8)
      return
    default:
  }
}

function drawGlyph(
  context: CanvasRenderingContext2D,
  { x, y, state, color }: { x: number; y: number; state: StateName; color: string },
): void {
  context.strokeStyle = color
  context.fillStyle = color
  context.lineWidth = 1.8
  context.beginPath()
  switch (state) {
    case 'completed':
      context.arc(x, y, 4, 0, Math.PI * 2)
      context.fill()
      return
    case 'running':
      context.arc(x, y, 3.6, -Math.PI / 2, Math.PI)
      break
    case 'failed':
      context.moveTo(x - 3.5, y - 3.5)
      context.lineTo(x + 3.5, y + 3.5)
      context.moveTo(x + 3.5, y - 3.5)
      context.lineTo(x - 3.5, y + 3.5)
      break
    case 'needs-you':
      context.moveTo(x, y - 5)
      context.lineTo(x + 5, y)
      context.lineTo(x, y + 5)
      context.lineTo(x - 5, y)
      context.fill()
      return
    case 'cancelled':
      context.moveTo(x - 4, y)
      context.lineTo(x + 4, y)
      break
    case 'waiting':
      context.moveTo(x - 2, y - 4)
      context.lineTo(x - 2, y + 4)
      context.moveTo(x + 2, y - 4)
      context.lineTo(x + 2, y + 4)
      break
    default:
      context.setLineDash([2, 1.5])
      context.arc(x, y, 3.6, 0, Math.PI * 2)
  }
  context.stroke()
  context.setLineDash([])
}

function colorOf(state: StateName, palette: Palette): string {
  switch (state) {
    case 'running':
      return palette.blue
    case 'completed':
      return palette.green
    case 'failed':
    case 'needs-you':
      return palette.red
    case 'waiting':
    case 'unknown':
      return palette.yellow
    default:
      return palette.text3
  }
}

const sans = 'system-ui, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif'

/** Measuring a text costs more than drawing it. */
const widths = new Map<string, number>()
const fits = new Map<string, string>()
const maxCached = 5000

function widthOf(context: CanvasRenderingContext2D, text: string): number {
  const key = `${context.font} ${text}`
  const known = widths.get(key)
  if (known !== undefined) return known
  const { width } = context.measureText(text)
  if (widths.size > maxCached) widths.clear()
  widths.set(key, width)
  return width
}

function fitText(context: CanvasRenderingContext2D, text: string, room: number): string {
  const key = `${context.font} ${room} ${text}`
  const known = fits.get(key)
  if (known !== undefined) return known
  let fitting = text.slice(0, 200)
  if (context.measureText(fitting).width > room) {
    let [least, most] = [0, fitting.length]
    while (least < most) {
      const middle = Math.ceil((least + most) / 2)
      if (context.measureText(`${fitting.slice(0, middle)}…`).width <= room) least = middle
      else most = middle - 1
    }
    fitting = `${fitting.slice(0, least)}…`
  }
  if (fits.size > maxCached) fits.clear()
  fits.set(key, fitting)
  return fitting
}

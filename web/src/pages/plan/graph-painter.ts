import type { TaskLine } from '../../api/wire.ts'
import { type Camera, drawGraph, readPalette } from './draw-graph.ts'
import { type GraphLayout, layoutGraph, nodeSize, type Point } from './graph-layout.ts'

const margin = 24
const zooms = { least: 0.08, most: 2 } as const
/** Tasks move to a new place in this time. */
const moveTime = 150

/** Draws a plan on a canvas when something has changed, at most once a frame. */
export class GraphPainter {
  layout: GraphLayout = { places: new Map(), edges: [], width: 0, height: 0 }
  #tasks: ReadonlyMap<number, TaskLine> = new Map()
  #shape = ''
  #focused: number | undefined
  #opened: number | undefined
  #camera: Camera = { x: -margin, y: -margin, zoom: 1 }
  /** The reader has moved the picture: it is not fitted again by itself. */
  #wasMoved = false
  #canvas: HTMLCanvasElement | undefined
  #palette: ReturnType<typeof readPalette> | undefined
  #frame: number | undefined
  #from: { places: Map<number, Point>; at: number } | undefined

  /** Draws on this canvas until the returned function is called. */
  attach(canvas: HTMLCanvasElement): () => void {
    this.#canvas = canvas
    const resize = new ResizeObserver(() => {
      if (!this.#wasMoved) this.fit()
      this.#draw()
    })
    resize.observe(canvas)
    const dark = window.matchMedia('(prefers-color-scheme: dark)')
    const repaint = () => {
      this.#palette = undefined
      this.#draw()
    }
    dark.addEventListener('change', repaint)
    const onWheel = (event: WheelEvent) => this.#onWheel(event)
    canvas.addEventListener('wheel', onWheel, { passive: false })
    return () => {
      resize.disconnect()
      dark.removeEventListener('change', repaint)
      canvas.removeEventListener('wheel', onWheel)
      if (this.#frame !== undefined) cancelAnimationFrame(this.#frame)
      this.#frame = undefined
      this.#canvas = undefined
    }
  }

  /** Shows these tasks. They are placed anew only if tasks or dependencies have changed. */
  show(tasks: readonly TaskLine[], opened: number | undefined): void {
    this.#tasks = new Map(tasks.map((task) => [task.id, task]))
    this.#opened = opened
    const shape = tasks.map(({ id, dependsOn }) => `${id}<${dependsOn.join()}`).join(' ')
    if (shape !== this.#shape) {
      const isFirst = this.#shape === ''
      if (!isFirst && !window.matchMedia('(prefers-reduced-motion: reduce)').matches)
        this.#from = { places: this.layout.places, at: performance.now() }
      this.#shape = shape
      this.layout = layoutGraph(tasks, isFirst ? undefined : this.layout)
      if (isFirst || !this.#wasMoved) this.fit()
    }
    this.#draw()
  }

  focus(task: number | undefined): void {
    this.#focused = task
    if (task !== undefined) this.#reveal(task)
    this.#draw()
  }

  moveBy(dx: number, dy: number): void {
    const { x, y, zoom } = this.#camera
    this.#wasMoved = true
    this.#camera = { x: x + dx / zoom, y: y + dy / zoom, zoom }
    this.#draw()
  }

  zoomBy(factor: number, around?: Point): void {
    const { width, height } = this.#size()
    const { x, y, zoom } = this.#camera
    const next = Math.min(zooms.most, Math.max(zooms.least, zoom * factor))
    const at = around ?? { x: width / 2, y: height / 2 }
    this.#wasMoved = true
    this.#camera = { x: x + at.x / zoom - at.x / next, y: y + at.y / zoom - at.y / next, zoom: next }
    this.#draw()
  }

  /** Shows all tasks, at most in their own size. */
  fit(): void {
    const { width, height } = this.#size()
    if (width === 0) return
    const room = { width: width - 2 * margin, height: height - 2 * margin }
    const zoom = Math.max(zooms.least, Math.min(1, room.width / this.layout.width, room.height / this.layout.height))
    this.#wasMoved = false
    this.#camera = {
      zoom,
      x: (this.layout.width - width / zoom) / 2,
      y: (this.layout.height - height / zoom) / 2,
    }
    this.#draw()
  }

  /** The task at a place of the canvas. */
  taskAt(left: number, top: number): number | undefined {
    const { x, y, zoom } = this.#camera
    const at = { x: x + left / zoom, y: y + top / zoom }
    for (const [id, place] of this.layout.places) {
      const [dx, dy] = [at.x - place.x, at.y - place.y]
      if (dx >= 0 && dy >= 0 && dx <= nodeSize.width && dy <= nodeSize.height) return id
    }
    return undefined
  }

  #reveal(task: number): void {
    const place = this.layout.places.get(task)
    if (!place) return
    const { width, height } = this.#size()
    const { x, y, zoom } = this.#camera
    const clamp = (value: number, least: number, most: number) =>
      Math.min(Math.max(value, Math.min(least, most)), Math.max(least, most))
    this.#camera = {
      zoom,
      x: clamp(x, place.x + nodeSize.width + margin - width / zoom, place.x - margin),
      y: clamp(y, place.y + nodeSize.height + margin - height / zoom, place.y - margin),
    }
  }

  #onWheel(event: WheelEvent): void {
    event.preventDefault()
    if (event.ctrlKey || event.metaKey)
      this.zoomBy(Math.exp(-event.deltaY / 300), { x: event.offsetX, y: event.offsetY })
    else this.moveBy(event.shiftKey ? event.deltaY : event.deltaX, event.shiftKey ? 0 : event.deltaY)
  }

  #size(): { width: number; height: number } {
    return { width: this.#canvas?.clientWidth ?? 0, height: this.#canvas?.clientHeight ?? 0 }
  }

  #draw(): void {
    this.#frame ??= requestAnimationFrame(() => this.#paint())
  }

  #paint(): void {
    this.#frame = undefined
    const canvas = this.#canvas
    const context = canvas?.getContext('2d', { alpha: false })
    if (!canvas || !context) return
    const { width, height } = this.#size()
    const ratio = window.devicePixelRatio
    const [pixels, lines] = [Math.round(width * ratio), Math.round(height * ratio)]
    if (canvas.width !== pixels || canvas.height !== lines) {
      canvas.width = pixels
      canvas.height = lines
    }
    this.#palette ??= readPalette(canvas)
    const layout = this.#movingLayout()
    const scene = { layout, tasks: this.#tasks, focused: this.#focused, opened: this.#opened, camera: this.#camera }
    drawGraph(context, scene, this.#palette, { width, height, ratio })
    if (this.#from) this.#draw()
  }

  /** The layout on its way from the last one. */
  #movingLayout(): GraphLayout {
    const from = this.#from
    if (!from) return this.layout
    const share = Math.min(1, (performance.now() - from.at) / moveTime)
    if (share === 1) this.#from = undefined
    const between = (id: number, to: Point): Point => {
      const start = from.places.get(id) ?? { x: to.x - 30, y: to.y }
      return { x: start.x + (to.x - start.x) * share, y: start.y + (to.y - start.y) * share }
    }
    return { ...this.layout, places: new Map([...this.layout.places].map(([id, to]) => [id, between(id, to)])) }
  }
}

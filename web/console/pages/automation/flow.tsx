import '@xyflow/react/dist/base.css'
import './flow.css'
import {
  Background,
  BaseEdge,
  Controls,
  type Edge,
  type EdgeProps,
  getSmoothStepPath,
  Handle,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
} from '@xyflow/react'
import { type ReactNode, useMemo } from 'react'
import type { AutomationData, AutomationVersionCounts } from '../../../../clients/typescript/src/index.ts'
import { count } from '../../parts/format.ts'
import { t } from '../../parts/t.ts'
import { EndBox, StartBox, StepBox } from './box.tsx'
import { BOX, END, type Layout, type Line, layoutOf, ROW_GAP, START } from './layout.ts'
import { countOfStep } from './use-counts.ts'
import { type NameOfEvent, stepsOf } from './words.ts'

type FlowProps = { data: AutomationData; counts: AutomationVersionCounts | undefined; nameOf: NameOfEvent }
type LineEdge = Edge<{ label: string; isFirst: boolean }, 'line'>
type BoxNode = Node<{ content: ReactNode; id: string }, 'box'>

/** The flow as a graph that can be moved and enlarged. Its boxes are buttons in the order of the steps. */
export default function Flow({ data, counts, nameOf }: FlowProps) {
  const layout = useMemo(() => layoutOf(stepsOf(data)), [data])
  const nodes = useMemo<BoxNode[]>(
    () =>
      layout.boxes.map(({ id, step, x, y }) => ({
        id,
        type: 'box',
        position: { x: x - BOX.width / 2, y },
        width: BOX.width,
        height: BOX.height,
        data: {
          id,
          content: step ? (
            <StepBox step={step} counts={counts} nameOf={nameOf} />
          ) : id === START ? (
            <StartBox data={data} counts={counts} nameOf={nameOf} />
          ) : (
            <EndBox counts={counts} />
          ),
        },
      })),
    [layout, data, counts, nameOf],
  )
  const edges = useMemo(() => edgesOf(layout, counts), [layout, counts])
  const height = Math.min(760, Math.max(360, layout.height + 60))
  return (
    <section className="flow" style={{ height }} aria-label={t('Flow')}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        fitView
        fitViewOptions={{ padding: 0.06, maxZoom: 1 }}
        minZoom={0.15}
        maxZoom={1.6}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        zoomOnScroll={false}
        preventScrolling={false}
        zoomOnDoubleClick={false}
        disableKeyboardA11y
      >
        <Background gap={18} size={1} />
        <Controls showInteractive={false} aria-label={t('Size of the flow')} />
      </ReactFlow>
    </section>
  )
}

function BoxOfFlow({ data: { content, id } }: NodeProps<BoxNode>) {
  return (
    <>
      {id !== START && <Handle type="target" position={Position.Top} isConnectable={false} />}
      {content}
      {id !== END && <Handle type="source" position={Position.Bottom} isConnectable={false} />}
    </>
  )
}
const NODE_TYPES = { box: BoxOfFlow }

/** The way that stands at the left of the axis: its label does, too, because boxes may stand at the other side. */
const isFirstWay = ({ way }: Line) => way === 'then' || way === 'event'

/** A line whose text stands where it leaves its box, and not in the middle, where another box may be. */
function LineOfFlow({ id, sourceX, sourceY, targetX, targetY, sourcePosition, targetPosition, data }: EdgeProps<LineEdge>) {
  const [path, middle] = getSmoothStepPath({ sourceX, sourceY, targetX, targetY, sourcePosition, targetPosition })
  if (!data?.label) return <BaseEdge id={id} path={path} />
  const { label, isFirst } = data
  const isStraight = Math.abs(sourceX - targetX) < 1
  const [x, y] = isStraight ? [sourceX + (isFirst ? -1 : 1) * (label.length * 3.2 + 8), sourceY + 15] : [middle, sourceY + ROW_GAP / 2]
  return <BaseEdge id={id} path={path} label={label} labelX={x} labelY={y} labelShowBg labelBgPadding={[4, 2]} labelBgBorderRadius={3} />
}
const EDGE_TYPES = { line: LineOfFlow }

/** One line from a box to another, whatever ways lead along it. */
function edgesOf({ lines }: Layout, counts: AutomationVersionCounts | undefined): LineEdge[] {
  return [...Map.groupBy(lines, ({ from, to }) => `${from} → ${to}`)].map(([id, [first, ...rest]]) => {
    const label = [first!, ...rest]
      .map(line => wayText(line, counts))
      .filter(Boolean)
      .join(' · ')
    return { id, source: first!.from, target: first!.to, type: 'line', data: { label, isFirst: isFirstWay(first!) } }
  })
}

/** `yes 12`: the way and how many went it. */
function wayText({ from, way, says }: Pick<Line, 'from' | 'way' | 'says'>, counts: AutomationVersionCounts | undefined): string {
  if (way === null || says === null) return ''
  return counts ? `${says} ${count(countOfStep(counts, from)?.branches?.[way] ?? 0)}` : says
}

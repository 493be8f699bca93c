const PATHS = {
  home: 'M4 11l8-7 8 7v8a1 1 0 0 1-1 1h-4v-6h-6v6H5a1 1 0 0 1-1-1z',
  chart: 'M4 20h16M7 20v-7m5 7V6m5 14v-10',
  grid: 'M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z',
  coins:
    'M12 10c3.900 0 7-1.300 7-3s-3.100-3-7-3-7 1.300-7 3 3.100 3 7 3zM5 7v5c0 1.700 3.100 3 7 3s7-1.300 7-3V7M5 12v5c0 1.700 3.100 3 7 3s7-1.300 7-3v-5',
  people:
    'M9 11a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7zM2.500 20c0-3.500 2.800-6 6.500-6s6.500 2.500 6.500 6M16 4.500a3.500 3.500 0 0 1 0 6.500M18 14.500c2.200.8 3.500 2.800 3.500 5.500',
  flow: 'M5 3h5v5H5zM14 16h5v5h-5zM7.500 8v6a4.500 4.500 0 0 0 4.500 4.500h2',
  mail: 'M3 6h18v12H3zM3 7l9 6 9-6',
  plug: 'M9 3v5m6-5v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4',
  check: 'M4 12.500l5 5L20 6.500',
  shield: 'M12 3l8 3v6c0 4.500-3.300 7.700-8 9-4.700-1.300-8-4.500-8-9V6zM8.500 12l2.500 2.500 4.500-5',
  promise: 'M12 21a9 9 0 1 1 8.700-11.300M8 11.500l3.500 3.500L21 5.500',
  flask: 'M9 3h6M10 3v6l-5.500 9.500A1.700 1.700 0 0 0 6 21h12a1.700 1.700 0 0 0 1.500-2.500L14 9V3M7.500 15h9',
  gear: 'M12 15.500a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7zM12 2.500v3m0 13v3M4.500 4.500l2 2m11 11l2 2M2.500 12h3m13 0h3M4.500 19.500l2-2m11-11l2-2',
  pulse: 'M3 12h4l3-8 4 16 3-8h4',
  list: 'M8 6h13M8 12h13M8 18h13M3.500 6h.01M3.500 12h.01M3.500 18h.01',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM20.500 20.500l-4.500-4.500',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 3v1.500m0 15V21M5.600 5.600l1 1m10.800 10.800l1 1M3 12h1.500m15 0H21M5.600 18.400l1-1m10.800-10.800l1-1',
  moon: 'M20 14.500A8.500 8.500 0 0 1 9.500 4a8.500 8.500 0 1 0 10.500 10.500z',
  download: 'M12 4v11m-4.500-4.500L12 15l4.500-4.500M4 20h16',
  link: 'M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 6 6l1-1',
  code: 'M8 7l-5 5 5 5M16 7l5 5-5 5M13.500 5l-3 14',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  close: 'M6 6l12 12M18 6L6 18',
  next: 'M9 5l7 7-7 7',
  prev: 'M15 5l-7 7 7 7',
  fold: 'M6 9l6 6 6-6',
  up: 'M12 19V5m-6 6l6-6 6 6',
  down: 'M12 5v14m-6-6l6 6 6-6',
  warn: 'M12 4l9.500 16h-19zM12 10v4.500m0 2.500v.01',
  info: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 11v5.500m0-8.500v.01',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5.500l3.500 2',
  retry: 'M20 5v5h-5M4 19v-5h5M19.500 10A8 8 0 0 0 5.500 8M4.500 14a8 8 0 0 0 14 2',
  key: 'M8 17a4 4 0 1 1 3.500-6H21v3h-2.500v2.500H16V14h-4.500A4 4 0 0 1 8 17z',
  undo: 'M4 9h11a5 5 0 0 1 0 10h-5M4 9l4.500-4.500M4 9l4.500 4.500',
  gift: 'M4 11h16v9H4zM3 7h18v4H3zM12 7v13M12 7C8 7 7 3.500 9 3.500S12 7 12 7zm0 0c4 0 5-3.500 3-3.500S12 7 12 7z',
  bolt: 'M13 2.500L4.500 14H11l-1 7.500L19.500 10H13z',
  branch: 'M6 4v16M6 8h6a4 4 0 0 1 4 4v2m-3 0l3 4 3-4',
  tag: 'M4 4h8l8.500 8.500-8 8L4 12zM8 8h.01',
  eye: 'M2.500 12S6 5.500 12 5.500 21.500 12 21.500 12 18 18.500 12 18.500 2.500 12 2.500 12zM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6z',
  menu: 'M4 7h16M4 12h16M4 17h16',
  sliders: 'M4 7h9m4 0h3M15 5v4M4 17h3m4 0h9M9 15v4',
  dots: 'M5 12h.01M12 12h.01M19 12h.01',
  pin: 'M9 3h6l-1 6 4 4H6l4-4zM12 13v8',
  swap: 'M4 8h14l-3.500-3.500M20 16H6l3.500 3.500',
  leave: 'M14 4H5v16h9M10 12h11m-4-4l4 4-4 4',
  user: 'M12 11.500a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 20.500c0-4 3.500-6.500 8-6.500s8 2.500 8 6.500',
} as const

export type IconName = keyof typeof PATHS

/** An icon says nothing to a reader: the text beside it, or the label of its button, does. */
export const Icon = ({ name, size = 16 }: { name: IconName; size?: number }) => (
  <svg
    width={size}
    height={size}
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    strokeWidth={1.8}
    strokeLinecap="round"
    strokeLinejoin="round"
    aria-hidden="true"
    focusable="false"
  >
    <path d={PATHS[name]} />
  </svg>
)

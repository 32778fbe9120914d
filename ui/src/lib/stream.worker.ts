// The shared worker: holds the one stream while any tab is open.
import { Stream, type FromTab, type ToTab } from './stream'

const stream = new Stream()
const ports = new Map<MessagePort, number>()
const ALIVE_MS = 60_000

const worker = globalThis as unknown as { onconnect: (event: MessageEvent) => void }
worker.onconnect = (event) => {
  const port = event.ports[0]
  ports.set(port, Date.now())
  stream.join(port, (message: ToTab) => port.postMessage(message))
  port.onmessage = ({ data }: MessageEvent<FromTab>) => {
    ports.set(port, Date.now())
    if (data.kind === 'wish') stream.wish(port, data.wishes, data.key)
    else if (data.kind === 'bye') drop(port)
  }
}
function drop(port: MessagePort) {
  ports.delete(port)
  stream.leave(port)
}
// A tab that crashed says no goodbye.
setInterval(() => {
  for (const [port, seen] of ports) if (seen < Date.now() - ALIVE_MS * 3) drop(port)
}, ALIVE_MS)

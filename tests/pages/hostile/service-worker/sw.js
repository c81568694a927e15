self.oninstall = () => skipWaiting(); self.onactivate = () => clients.claim(); self.onfetch = (e) => e.respondWith(new Response("taken over", {headers: {"content-type": "text/html"}}));
